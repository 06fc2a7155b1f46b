"""The form that registers an interpreter."""

from __future__ import annotations

from typing import Any

from django import forms

from campaigns.models import Environment

__all__ = ["EnvironmentForm"]


class EnvironmentForm(forms.Form):
    """`framework` may be left open where the interpreter has but one of them."""

    name = forms.CharField(max_length=80, help_text="Such as “torch 2.12” or “mindspore nightly”.")
    interpreter = forms.CharField(
        max_length=500,
        help_text="Path of a Python on the machine of the workers, with NumPy and the framework.",
    )
    framework = forms.ChoiceField(
        choices=[("", "the one that it has"), *Environment.Framework.choices], required=False
    )

    def said(self) -> dict[str, Any]:
        """What `add_environment` takes."""
        return dict(self.cleaned_data)

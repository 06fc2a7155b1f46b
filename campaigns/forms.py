"""Forms of campaigns."""

from __future__ import annotations

import secrets
from typing import Any

from django import forms

from campaigns.choices import (
    mode_names,
    policy_names,
    preset_named,
    preset_seeds,
    seed_names,
)
from campaigns.models import Campaign
from engine.executors.modes import MODES
from engine.seeds import SEEDS

__all__ = ["CampaignForm"]

_MOST_ROUNDS = 1_000_000


class CampaignForm(forms.Form):
    """A new campaign. `preset` fills the first values; every one can be changed."""

    name = forms.CharField(max_length=120)
    seeds = forms.MultipleChoiceField(
        widget=forms.CheckboxSelectMultiple, help_text="One shard each; shards run side by side."
    )
    modes = forms.MultipleChoiceField(
        widget=forms.CheckboxSelectMultiple, help_text="Every mutant is run in each of them."
    )
    policy = forms.ChoiceField(help_text="Chooses the next mutation.")
    rounds = forms.IntegerField(
        min_value=1,
        max_value=_MOST_ROUNDS,
        label="Rounds per seed",
        help_text="One round is one mutant in all its modes.",
    )
    random_seed = forms.IntegerField(
        min_value=0,
        max_value=2**31 - 1,
        help_text="The same number, policy random and seeds give the same mutants.",
    )
    preset = forms.ChoiceField(choices=Campaign.Preset, widget=forms.HiddenInput, required=False)

    def __init__(self, *args: Any, preset: str = Campaign.Preset.QUICK_LOOK, **kwargs: Any) -> None:
        chosen = preset_named(preset)
        kwargs.setdefault(
            "initial",
            {
                "name": chosen.title,
                "seeds": preset_seeds(chosen),
                "modes": chosen.modes,
                "policy": chosen.policy,
                "rounds": chosen.rounds,
                "random_seed": secrets.randbelow(10**6),
                "preset": chosen.key,
            },
        )
        super().__init__(*args, **kwargs)
        self._set_choices("seeds", [(name, SEEDS[name].title) for name in seed_names()])
        self._set_choices("modes", [(mode.name, mode.text) for mode in MODES.values()])
        self._set_choices("policy", [(name, name) for name in policy_names()])

    def _set_choices(self, name: str, choices: list[tuple[str, str]]) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)
        field.choices = choices

    def clean_seeds(self) -> list[str]:
        """In the order of the catalogue, so that equal choices make equal shards."""
        chosen = set(self.cleaned_data["seeds"])
        return [name for name in seed_names() if name in chosen]

    def clean_modes(self) -> list[str]:
        chosen = set(self.cleaned_data["modes"])
        return [name for name in mode_names() if name in chosen]

    def clean_preset(self) -> str:
        return self.cleaned_data["preset"] or Campaign.Preset.CUSTOM

"""Forms of campaigns."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from django import forms

from campaigns.choices import (
    Preset,
    mode_names,
    op_names,
    policy_texts,
    pool_texts,
    preset_named,
    preset_seeds,
    seed_names,
    seed_texts,
)
from campaigns.estimates import Estimate, estimate, workers_there
from campaigns.models import MOST_ROUNDS, Campaign
from engine.executors.modes import MODES

__all__ = ["CampaignForm", "CompareForm", "clone_values", "preset_values"]

_MOST_MINUTES = 60 * 24 * 90
_MOST_SEED = 2**31 - 1


def preset_values(preset: Preset) -> dict[str, Any]:
    """What the form says at first for a preset."""
    seeds = preset_seeds(preset)
    workers = workers_there()[0] if preset.hours else 1
    return {
        "name": preset.title,
        "seeds": seeds,
        "modes": list(preset.modes),
        "policy": preset.policy,
        "pool": "full",
        "ops": "",
        "rounds": preset.rounds,
        "minutes": preset.minutes(seeds=len(seeds), workers=workers),
        "workers": None,
        "random_seed": secrets.randbelow(10**6),
        "preset": preset.key,
    }


def clone_values(campaign: Campaign) -> dict[str, Any]:
    """What the form says at first for a clone: the same options, another random seed."""
    return {
        "name": f"{campaign.name}, again"[:120],
        "seeds": list(dict.fromkeys(campaign.seeds)),
        "modes": campaign.modes,
        "policy": campaign.policy,
        "pool": campaign.pool,
        "ops": ", ".join(campaign.ops),
        "rounds": campaign.rounds if campaign.has_round_limit() else None,
        "minutes": campaign.minutes,
        "workers": campaign.workers,
        "random_seed": secrets.randbelow(10**6),
        "preset": campaign.preset,
        "cloned_from": campaign.uuid,
    }


class OperatorsField(forms.CharField):
    """Names of operators: a list, or text with commas between them."""

    def to_python(self, value: Any) -> Any:
        text = value if value is None or isinstance(value, str) else ", ".join(map(str, value))
        names = (super().to_python(text) or "").replace(",", " ").split()
        return list(dict.fromkeys(names))

    def validate(self, value: Any) -> None:
        super().validate(value)
        known = op_names()
        for name in value:
            if name not in known:
                close = ", ".join(get_close_matches(name, known))
                meant = f" Did you mean {close}?" if close else ""
                raise forms.ValidationError(f"There is no operator {name}.{meant}")

    def run_validators(self, value: Any) -> None:
        """None: they are of texts."""


class CampaignForm(forms.Form):
    """A new campaign. `preset` or `origin` fill the first values; every one can be changed.

    `estimate_cost` is what it will take, as far as the fields that decide it are in order.
    """

    name = forms.CharField(max_length=120)
    seeds = forms.MultipleChoiceField(
        widget=forms.CheckboxSelectMultiple,
        help_text="One shard each; shards run side by side. Full-scale models take gigabytes of"
        " memory and minutes for each round.",
    )
    rounds = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=MOST_ROUNDS - 1,
        label="Rounds per seed",
        help_text="One round is one mutant in all its modes.",
    )
    minutes = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=_MOST_MINUTES,
        label="Minutes per seed",
        help_text="Time in rounds. With both limits, the first that is reached ends a seed.",
    )
    ops = OperatorsField(
        required=False,
        label="Only these operators",
        help_text="Names with commas between them; empty for all. A mutation is tried only where"
        " one of them is at its site or reads or makes the tensor it touches, or if it brings one"
        " in.",
        widget=forms.TextInput(attrs={"list": "operators", "autocomplete": "off"}),
    )
    modes = forms.MultipleChoiceField(
        widget=forms.CheckboxSelectMultiple, help_text="Every mutant is run in each of them."
    )
    policy = forms.ChoiceField(help_text="Chooses the next mutation.")
    pool = forms.ChoiceField(
        required=False, label="Mutators", help_text="Which of them may be tried."
    )
    workers = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=1000,
        label="Workers at most",
        help_text="Leaves other workers to other campaigns. Empty: as many as there are.",
    )
    random_seed = forms.IntegerField(
        min_value=0,
        max_value=_MOST_SEED,
        help_text="The same number, policy random and seeds give the same mutants.",
    )
    preset = forms.ChoiceField(choices=Campaign.Preset, widget=forms.HiddenInput, required=False)
    cloned_from = forms.ModelChoiceField(
        queryset=Campaign.objects.all(),
        to_field_name="uuid",
        widget=forms.HiddenInput,
        required=False,
    )

    # What a person rarely changes; folded on the page.
    ADVANCED = ("modes", "policy", "pool", "workers", "random_seed")
    # What an estimate follows from.
    _COSTS = ("seeds", "rounds", "minutes", "workers")

    def __init__(
        self,
        data: Mapping[str, Any] | None = None,
        *,
        preset: str = Campaign.Preset.QUICK_LOOK,
        origin: Campaign | None = None,
        seeds: Sequence[str] = (),
    ) -> None:
        first = clone_values(origin) if origin else preset_values(preset_named(preset))
        if seeds:
            first["seeds"] = [name for name in seed_names() if name in seeds]
        super().__init__(data, initial=first)
        self._set_choices("seeds", seed_texts())
        self._set_choices("modes", [(mode.name, mode.text) for mode in MODES.values()])
        self._set_choices("policy", policy_texts())
        self._set_choices("pool", pool_texts())

    def _set_choices(self, name: str, choices: list[tuple[str, str]]) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)
        field.choices = choices
        known = ", ".join(value for value, _ in choices)
        field.error_messages["invalid_choice"] = f"There is no %(value)s here. Known: {known}."

    @property
    def operators(self) -> list[str]:
        """Names that the browser offers for the operators."""
        return op_names()

    @property
    def has_wrong_advanced(self) -> bool:
        """Whether the folded part holds an error, and is to be open."""
        return self.is_bound and any(name in self.errors for name in self.ADVANCED)

    def clean_seeds(self) -> list[str]:
        """In the order of the catalogue, so that equal choices make equal shards."""
        chosen = set(self.cleaned_data["seeds"])
        return [name for name in seed_names() if name in chosen]

    def clean_modes(self) -> list[str]:
        chosen = set(self.cleaned_data["modes"])
        return [name for name in mode_names() if name in chosen]

    def clean_pool(self) -> str:
        return self.cleaned_data["pool"] or "full"

    def clean_preset(self) -> str:
        return self.cleaned_data["preset"] or Campaign.Preset.CUSTOM

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        limits = {"rounds", "minutes"}
        if not limits & self.errors.keys() and not any(data.get(one) for one in limits):
            self.add_error("rounds", "Give a number of rounds, of minutes, or both.")
        if data.get("preset") == Campaign.Preset.ONE_OPERATOR and "ops" in data and not data["ops"]:
            self.add_error("ops", "Name the operator, for instance softmax.")
        return data

    def estimate_cost(self) -> Estimate | None:
        """What it will take; None where the fields that decide it are wrong. Three queries."""
        if not self.is_bound:
            values = {name: self.initial.get(name) for name in self._COSTS}
        elif self.errors.keys() & {*self._COSTS}:
            return None
        else:
            values = {name: self.cleaned_data.get(name) for name in self._COSTS}
        return estimate(
            values["seeds"] or [],
            rounds=values["rounds"],
            minutes=values["minutes"],
            workers=values["workers"],
        )


class _CampaignChoice(forms.ModelChoiceField[Campaign]):
    def label_from_instance(self, obj: Campaign) -> str:
        return f"{obj.name}, {obj.policy}, random seed {obj.random_seed}, {obj.created_at:%Y-%m-%d}"


class CompareForm(forms.Form):
    """Which two."""

    first = _CampaignChoice(queryset=Campaign.objects.all(), to_field_name="uuid")
    second = _CampaignChoice(queryset=Campaign.objects.all(), to_field_name="uuid")

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if data.get("first") and data.get("first") == data.get("second"):
            self.add_error("second", "Choose another campaign than the first.")
        return data

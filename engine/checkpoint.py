"""Typed access to a checkpoint, with errors that name the field."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.errors import BadInput

__all__ = ["CHECKPOINT_FORMAT", "CheckpointReader"]

CHECKPOINT_FORMAT = 1


@dataclass(frozen=True)
class CheckpointReader:
    """The fields of a JSON object that must be there and of a kind."""

    data: Mapping[str, object]
    thing: str = field(default="checkpoint")

    def integer(self, name: str) -> int:
        found = self.data.get(name)
        if not isinstance(found, int):
            raise BadInput(f"{self.thing} field {name}", seen=found, expected="an integer")
        return found

    def mapping(self, name: str) -> dict[str, object]:
        found = self.data.get(name)
        if not isinstance(found, Mapping):
            raise BadInput(f"{self.thing} field {name}", seen=found, expected="an object")
        return dict(found)

    def numbers(self, name: str) -> dict[str, int]:
        return {key: int(str(value)) for key, value in self.mapping(name).items()}

    def counts(self, name: str) -> dict[str, dict[str, int]]:
        found = self.mapping(name)
        return {key: CheckpointReader(found, f"{self.thing} {name}").numbers(key) for key in found}

    def sequence(self, name: str) -> list[object]:
        found = self.data.get(name)
        if not isinstance(found, list):
            raise BadInput(f"{self.thing} field {name}", seen=found, expected="a list")
        return found

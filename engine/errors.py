"""The three kinds of errors of the engine, kept apart.

A framework's behaviour is never one of these: it is data, an `Outcome`.
"""

__all__ = ["BadInput", "ConstraintViolated", "EngineError", "InvalidGraph"]


class EngineError(Exception):
    """Base of the errors the engine raises on purpose."""


class BadInput(EngineError):
    """What a person or a file gave us is wrong: names the thing, what was seen, what was
    expected."""

    def __init__(self, thing: str, *, seen: object, expected: str) -> None:
        super().__init__(f"{thing}: saw {seen}, expected {expected}")
        self.thing = thing
        self.seen = seen
        self.expected = expected


class ConstraintViolated(EngineError):
    """A mutation or an operator call does not apply here; counted with its reason."""


class InvalidGraph(EngineError):
    """A graph breaks a structural invariant; from our own edits this is our bug, from a file bad
    input."""

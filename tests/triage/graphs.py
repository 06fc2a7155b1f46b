"""Graphs in text form, of any length."""

__all__ = ["chain"]


def chain(length: int, *, changed_at: int | None = None, skips: bool = False) -> str:
    """A chain of relus, one of them a tanh; with skips, every fourth adds what was three before."""
    lines = ["graph long", "  input x: float32[2] = normal(seed=0, mean=0.0, std=1.0)"]
    before = "x"
    for index in range(length):
        call = f"{'tanh' if index == changed_at else 'relu'}({before})"
        if skips and index % 4 == 3:
            call = f"add({before}, v{index - 3})"
        lines.append(f"  v{index}: float32[2] = {call}")
        before = f"v{index}"
    return "\n".join([*lines, f"  return {before}", ""])

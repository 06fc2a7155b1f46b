"""Filters that show times, durations, numbers and statuses."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timesince import timesince

__all__ = ["ago", "chip", "compact", "duration", "error", "human", "share"]

register = template.Library()


class Look(NamedTuple):
    """Colour and shape of a status; the text is the status's own."""

    colour: str
    shape: str


# One table for every enum whose values are shown as chips. Shape carries what colour does.
_LOOKS: dict[str, Look] = {
    "pending": Look("", ""),
    "queued": Look("", ""),
    "running": Look("good pulse", "dot"),
    "paused": Look("warn", "pause"),
    "finished": Look("accent", "check"),
    "cancelled": Look("", "cross"),
    "failed": Look("bad", "cross"),
    "new": Look("accent", "dot"),
    "needs_work": Look("warn", "half"),
    "confirmed": Look("bad", "check"),
    "reported": Look("violet", "up"),
    "needs_info": Look("warn", "flag"),
    "routed": Look("violet", "dot"),
    "in_progress": Look("accent", "half"),
    "fix_claimed": Look("good", "half"),
    "fixed": Look("good", "check"),
    "regressed": Look("bad", "cycle"),
    "false_alarm": Look("", "cross"),
    "rejected": Look("", "cross"),
    "duplicate": Look("", "same"),
    "known_limit": Look("", "pause"),
    "draft": Look("", ""),
    "crash": Look("bad", "bolt"),
    "numerical": Look("violet", "wave"),
    "state": Look("warn", "cycle"),
    "efficiency": Look("accent", "half"),
    "pass": Look("good", "check"),
    "ok": Look("good", "check"),
    "fail": Look("bad", "cross"),
    "raised": Look("bad", "cross"),
    "died": Look("bad", "bolt"),
    "timeout": Look("warn", "pause"),
    "memory": Look("warn", "up"),
    "unsupported": Look("", "same"),
    "inconclusive": Look("warn", "half"),
    "flaky": Look("warn", "wave"),
    "fails at times": Look("bad", "wave"),
    "holds": Look("good", "check"),
    "broken": Look("bad", "cross"),
    "not known yet": Look("warn", "half"),
    "does not apply": Look("", "same"),
    "overridden": Look("violet", "flag"),
    "fails": Look("bad", "cross"),
    "passes": Look("good", "check"),
    "differs": Look("warn", "wave"),
    "could not run": Look("", "pause"),
    "reproduced": Look("bad", "cross"),
    "passed": Look("good", "check"),
    "flag": Look("warn", "flag"),
}
_PLAIN = Look("", "")


@register.filter
def chip(value: object, text: str = "") -> SafeString:
    """A status as a chip: its text, a shape and a colour."""
    name = str(value)
    look = _LOOKS.get(name, _PLAIN)
    label = text or str(getattr(value, "label", name.replace("_", " ")))
    return format_html('<span class="chip {}" data-shape="{}">{}</span>', *look, label)


@register.filter
def ago(when: datetime | None) -> SafeString:
    """How long ago, with the exact time in the title; scripts keep it current."""
    if when is None:
        return SafeString('<span class="muted">never</span>')
    local = timezone.localtime(when)
    seconds = (timezone.now() - when).total_seconds()
    text = "just now" if seconds < 60 else f"{timesince(when, depth=1)} ago"
    return format_html(
        '<time datetime="{}" title="{}" data-ago class="nowrap">{}</time>',
        local.isoformat(timespec="seconds"),
        f"{local:%Y-%m-%d %H:%M:%S %Z}",
        text,
    )


@register.filter
def duration(seconds: float | None) -> str:
    """Seconds as people say them: 850 ms, 12 s, 3 min, 2 h 05 min."""
    if seconds is None:
        return "unknown"
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.0f} s"
    if seconds < 3600:
        return f"{seconds / 60:.0f} min"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes:02d} min"


@register.filter
def compact(number: float | None) -> str:
    """A count of at most four characters or so: 950, 12.3k, 4.1M."""
    if number is None:
        return "0"
    for limit, suffix in ((1e6, "M"), (1e4, "k")):
        if number >= limit:
            return f"{number / (1e6 if suffix == 'M' else 1e3):.1f}{suffix}"
    return f"{number:.0f}"


@register.filter
def share(part: float, whole: float) -> int:
    """Per cent of `whole`, 0 where there is none."""
    return min(100, round(100 * part / whole)) if whole else 0


@register.filter
def per_cent(part: float | None) -> int:
    """A share from 0 to 1 as per cent."""
    return min(100, round(100 * (part or 0.0)))


@register.filter
def not_ok(statuses: dict[str, str]) -> list[tuple[str, str]]:
    """The modes of a round that did not answer, with what they did."""
    return [(mode, status) for mode, status in statuses.items() if status != "ok"]


@register.filter
def minus(number: int, items: list[object]) -> int:
    """How many are left when these are taken away."""
    return number - len(items)


@register.filter
def error(value: float) -> str:
    """A numerical error in three digits."""
    return f"{value:.3g}"


@register.filter
def since(when: datetime) -> SafeString:
    """How long it has been so, with the exact time in the title."""
    return format_html(
        '<time datetime="{}" title="{}" class="nowrap">{}</time>',
        timezone.localtime(when).isoformat(timespec="seconds"),
        f"{timezone.localtime(when):%Y-%m-%d %H:%M:%S %Z}",
        timesince(when, depth=1),
    )


@register.filter
def human(value: str) -> str:
    """A value of an enum as words; other text as it is."""
    return value.replace("_", " ") if value in _LOOKS else value

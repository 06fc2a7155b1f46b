"""Where a finding belongs: the bucket of the rule that matches it best, else of its signature."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from triage.models import Bucket, GroupingRule

__all__ = ["active_rules", "best_rule", "matches", "resolved", "rivals"]


def active_rules() -> list[GroupingRule]:
    """Every rule in force with its bucket. One query."""
    return list(GroupingRule.objects.filter(active=True).select_related("bucket"))


def matches(wanted: Mapping[str, str], parts: Mapping[str, str]) -> bool:
    """Whether the parts of a finding have every value that is wanted."""
    return bool(wanted) and all(parts.get(name) == value for name, value in wanted.items())


def best_rule(rules: Iterable[GroupingRule], parts: Mapping[str, str]) -> GroupingRule | None:
    """The rule with the most parts among those that match; None where none does."""
    found = [rule for rule in rules if matches(rule.parts, parts)]
    return max(found, key=lambda rule: (len(rule.parts), -(rule.pk or 0)), default=None)


def rivals(rules: Iterable[GroupingRule], parts: Mapping[str, str]) -> list[GroupingRule]:
    """Rules of as many parts that could match the same finding: nothing would tell them apart."""
    return [
        rule
        for rule in rules
        if len(rule.parts) == len(parts)
        and all(rule.parts[name] == parts[name] for name in rule.parts.keys() & parts.keys())
    ]


def resolved(bucket: Bucket) -> Bucket:
    """Where the findings of a bucket are now: itself, or what it was merged into in the end."""
    while bucket.merged_into is not None:
        bucket = bucket.merged_into
    return bucket

"""Readers of what versions say about buckets: the matrix, one bucket's standing, a verified fix."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models.fields.json import KeyTransform
from packaging.version import Version

from campaigns.models import Environment
from triage.models import Bucket, FindingRecord, Rerun
from triage.standing import Outcome, Standing, standing, version_of

__all__ = [
    "VERIFYING",
    "Cell",
    "Column",
    "Matrix",
    "Regressed",
    "Row",
    "Said",
    "Verified",
    "bucket_row",
    "finding_said",
    "matrix",
    "outcomes",
]

VERIFYING = 5
"""Passes, of as many attempts, each in a fresh process, by which a fix counts as verified."""


@dataclass(frozen=True)
class Said:
    """What one run, or the discovery, said about a bug on one version. `rerun`: None for that."""

    version: str
    outcome: Outcome
    words: str
    when: datetime
    rerun: Rerun | None = None

    @property
    def parsed(self) -> Version | None:
        return version_of(self.version)

    @property
    def verifies(self) -> bool:
        """Whether it is the kind of run by which a fix counts."""
        return (
            self.outcome is Outcome.PASSES
            and self.rerun is not None
            and self.rerun.attempts >= VERIFYING
        )


@dataclass(frozen=True)
class Verified:
    """The newest run by which the fix counts as verified."""

    said: Said
    newest_failing: Version


@dataclass(frozen=True)
class Regressed:
    """A run that fails where, or after where, an earlier one had verified the fix."""

    verified: Said
    failing: Said


@dataclass(frozen=True)
class Column:
    """A version, and the environments that have it now; none where they are gone.

    Builds of one version ("2.13.0+cpu") share a column: its text is that of one that is installed.
    """

    version: str
    environments: tuple[Environment, ...]

    @property
    def kind(self) -> str:
        return self.environments[0].get_kind_display() if self.environments else ""


@dataclass(frozen=True)
class Cell:
    """What a version says about a bucket: `said` is what counts, `others` what else was run."""

    column: Column
    said: Said | None
    others: tuple[Said, ...]
    waiting: tuple[Rerun, ...]


@dataclass(frozen=True)
class Row:
    """A bucket over all versions."""

    bucket: Bucket
    cells: tuple[Cell, ...]
    standing: Standing
    verified: Verified | None
    regressed: Regressed | None
    newest: Outcome | None

    @property
    def is_live(self) -> bool:
        return any(cell.waiting for cell in self.cells)


@dataclass(frozen=True)
class Matrix:
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]

    @property
    def is_live(self) -> bool:
        return any(row.is_live for row in self.rows)


def matrix(buckets: Sequence[Bucket], *, framework: str) -> Matrix:
    """Buckets of one framework against its versions. Three queries."""
    said, waiting = _evidence(buckets)
    columns = _columns(framework, said.values())
    rows = [_row(one, columns, said[one.pk], waiting[one.pk]) for one in buckets]
    return Matrix(columns, tuple(rows))


def bucket_row(bucket: Bucket) -> Row:
    """One bucket against the versions of its framework. Three queries."""
    return matrix([bucket], framework=bucket.framework).rows[0]


def finding_said(record: FindingRecord) -> tuple[Said, ...]:
    """What was said about one finding alone: bisection runs its script, no other's."""
    rows = record.reruns.filter(state__in=_ENDED).select_related("environment")
    ran = tuple(filter(None, (_of_rerun(one, record.framework) for one in rows)))
    version = str(record.data.get("environment", {}).get(record.framework, ""))
    return ran if not version else (*ran, _discovery(version, record))


def outcomes(said: Iterable[Said]) -> dict[Version, Outcome]:
    """By version, what counts: the latest of each environment, and of those the worst."""
    found: dict[Version, Outcome] = {}
    for version, group in _by_version(said).items():
        counting = _counting(group)
        if counting is not None:
            found[version] = counting.outcome
    return found


# ---------------------------------------------------------------------------------------- evidence
_ENDED = (Rerun.State.DONE, Rerun.State.FAILED)
_OPEN = (Rerun.State.QUEUED, Rerun.State.RUNNING)
_WORST = (Outcome.FAILS, Outcome.FLAKY, Outcome.PASSES, Outcome.NOT_RUN)


def _evidence(
    buckets: Sequence[Bucket],
) -> tuple[defaultdict[int, list[Said]], defaultdict[int, list[Rerun]]]:
    """By bucket: what was said, and the runs that were asked for."""
    said, waiting = defaultdict[int, list[Said]](list), defaultdict[int, list[Rerun]](list)
    found = FindingRecord.objects.filter(bucket__in=buckets).only(
        "bucket", "framework", "reproduced", "attempts", "created_at"
    )
    for record in found.annotate(versions=_environment()):
        version = str((record.versions or {}).get(record.framework, ""))
        if version:
            said[record.bucket_id].append(_discovery(version, record))
    reruns = Rerun.objects.filter(finding__bucket__in=buckets).exclude(state=Rerun.State.CANCELLED)
    for rerun in reruns.select_related("environment", "finding").defer("finding__data"):
        if rerun.state in _OPEN:
            waiting[rerun.finding.bucket_id].append(rerun)
        elif one := _of_rerun(rerun, rerun.finding.framework):
            said[rerun.finding.bucket_id].append(one)
    return said, waiting


def _environment() -> KeyTransform:
    """Versions that findings state, without the rest of what they say."""
    return KeyTransform("environment", "data")


def _discovery(version: str, record: FindingRecord) -> Said:
    words = f"failed {record.reproduced} of {record.attempts} when it was found"
    outcome = Outcome.FAILS if record.reproduced == record.attempts else Outcome.FLAKY
    return Said(version, outcome, words, record.created_at)


def _of_rerun(rerun: Rerun, framework: str) -> Said | None:
    """None where not even the version is known: the interpreter did not start."""
    version = str(rerun.versions.get(framework, ""))
    if not version or rerun.ended_at is None:
        return None
    return Said(version, _outcome(rerun), _words(rerun), rerun.ended_at, rerun)


def _outcome(rerun: Rerun) -> Outcome:
    if rerun.state == Rerun.State.FAILED:
        return Outcome.NOT_RUN
    if rerun.reproduced:
        return Outcome.FLAKY if rerun.passed else Outcome.FAILS
    return Outcome.PASSES if rerun.passed == rerun.attempts else Outcome.NOT_RUN


def _words(rerun: Rerun) -> str:
    ran = len(rerun.results)
    match _outcome(rerun):
        case Outcome.NOT_RUN if rerun.passed:
            return f"could not run {ran - rerun.passed} of {ran}"
        case Outcome.NOT_RUN:
            return rerun.problem or "could not run"
        case Outcome.PASSES:
            return f"passed {rerun.passed} of {ran}"
        case _:
            return f"failed {rerun.reproduced} of {ran}"


# -------------------------------------------------------------------------------------- what counts
def _columns(framework: str, said: Iterable[Iterable[Said]]) -> tuple[Column, ...]:
    """Versions that are installed and those that only results know, the oldest first."""
    installed = defaultdict[Version, list[Environment]](list)
    texts: dict[Version, str] = {}
    for group in said:
        texts |= {one.parsed: one.version for one in group if one.parsed is not None}
    for environment in Environment.objects.filter(framework=framework):
        version = version_of(environment.version)
        if version is not None:
            installed[version].append(environment)
            texts[version] = environment.version
    return tuple(Column(texts[one], tuple(installed[one])) for one in sorted(texts))


def _row(
    bucket: Bucket, columns: Sequence[Column], said: Sequence[Said], waiting: Sequence[Rerun]
) -> Row:
    cells = tuple(_cell(one, said, waiting) for one in columns)
    found = outcomes(said)
    installed = [one for one in map(version_of, _texts(columns)) if one]
    adds_up = standing(found, installed=installed)
    newest = next((one.said.outcome for one in reversed(cells) if one.said), None)
    verified = _verified(said, adds_up)
    return Row(bucket, cells, adds_up, verified, _regressed(said), newest)


def _texts(columns: Iterable[Column]) -> list[str]:
    return [one.version for one in columns if one.environments]


def _cell(column: Column, said: Sequence[Said], waiting: Sequence[Rerun]) -> Cell:
    here = sorted(
        (one for one in said if one.parsed == version_of(column.version)),
        key=lambda one: one.when,
        reverse=True,
    )
    counting = _counting(here)
    names = {environment.pk for environment in column.environments}
    own = {environment.pk for environment in column.environments if environment.is_own}
    open_ = (
        one for one in waiting if one.environment_id in names or (own and not one.environment_id)
    )
    rest = tuple(one for one in here if one is not counting and one.rerun is not None)
    return Cell(column, counting, rest, tuple(open_))


def _counting(said: Collection[Said]) -> Said | None:
    """Of one version: the latest run in each environment, of those the worst; what could not run
    only where nothing else was said. The discovery counts where nothing ran since."""
    latest: dict[tuple[int, int | None], Said] = {}
    for one in sorted(said, key=lambda one: one.when):
        if one.rerun is not None:
            latest[one.rerun.finding_id, one.rerun.environment_id] = one
    ran = sorted(latest.values(), key=lambda one: _WORST.index(one.outcome))
    known = [one for one in ran if one.outcome.is_known]
    found = [one for one in said if one.rerun is None]
    return next(iter([*known, *found, *ran]), None)


def _by_version(said: Iterable[Said]) -> Mapping[Version, list[Said]]:
    found = defaultdict[Version, list[Said]](list)
    for one in said:
        if one.parsed is not None:
            found[one.parsed].append(one)
    return found


def _verified(said: Iterable[Said], adds_up: Standing) -> Verified | None:
    """A fix is verified on a version newer than every one that fails, where every attempt passed.

    A bug that was never seen failing cannot be seen fixed.
    """
    failing = adds_up.newest_failing
    if failing is None:
        return None
    counting = filter(None, (_counting(group) for group in _by_version(said).values()))
    newer = [one for one in counting if one.verifies and one.parsed and one.parsed > failing]
    newest = max(newer, key=lambda one: (one.parsed or failing, one.when), default=None)
    return Verified(newest, failing) if newest else None


def _regressed(said: Sequence[Said]) -> Regressed | None:
    """The latest run that fails on a version not older than one where the fix was verified."""
    verifying = [one for one in said if one.verifies and one.parsed]
    failing = [one for one in said if one.rerun is not None and one.outcome.has_bug]
    for bad in sorted(failing, key=lambda one: one.when, reverse=True):
        earlier = [
            one
            for one in verifying
            if one.when < bad.when and one.parsed and bad.parsed and one.parsed <= bad.parsed
        ]
        still = _counting([one for one in said if one.parsed == bad.parsed])
        if earlier and still is not None and still.outcome.has_bug:
            return Regressed(max(earlier, key=lambda one: one.when), bad)
    return None

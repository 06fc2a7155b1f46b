"""A slice: one worker runs a shard for a while, and every round is recorded before the next begins.

No transaction is open while anything executes.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import Any, Protocol, TypeAlias

from django.db import Error as DatabaseProblem

from campaigns.models import Campaign, Shard
from campaigns.pulse import Pulse
from campaigns.seeds import seed_file
from campaigns.shards import (
    Claim,
    Hint,
    LostLeaseError,
    OnFinding,
    UnreadableCheckpointError,
    claim_shard,
    delay_shard,
    fail_shard,
    finish_shard,
    is_wanted,
    pause_for_checkpoint,
    read_checkpoint,
    record_round,
    release_shard,
)
from engine.campaign import campaign
from engine.errors import BadInput
from engine.events import CampaignFinished, Event, FindingFound, RoundFinished
from engine.executors.pool import Pool
from engine.finding import Finding
from engine.options import PRESETS, Options

__all__ = ["SLICE_SECONDS", "Engine", "Recorded", "Slice", "options_of", "run_slice"]

logger = logging.getLogger(__name__)
SLICE_SECONDS = 45.0
# Slices in a row that may raise before their shard is given up.
_TRIES_AGAIN = 4
# What a preset decides that a campaign has no column for.
_PRESET_OPTIONS = ("costly_share", "minimise_seconds")


# Coarse keys of the findings that a campaign has on record.
Recorded: TypeAlias = "Callable[[Campaign], Collection[str]]"


def _nothing(campaign: Campaign) -> Collection[str]:
    return ()


class Engine(Protocol):
    """`engine.campaign.campaign`, or what stands for it at the process boundary."""

    def __call__(
        self,
        options: Options,
        pool: Pool,
        *,
        checkpoint: Mapping[str, object] | None = None,
        graph_text: str = "",
        recorded: Callable[[], Collection[str]] = frozenset,
        corpus: Mapping[str, str] | None = None,
    ) -> Iterator[Event]: ...


@dataclass(frozen=True)
class Slice:
    """What came of it. `hint`: the shard waits for its next slice, None where it does not."""

    claimed: bool
    rounds: int = 0
    hint: Hint | None = None


def options_of(shard: Shard) -> Options:
    """What the engine is asked; `BadInput` where the campaign names what there is not.

    The random seed is the campaign's plus the shard's index, so that two shards of one seed differ.
    """
    asked = shard.campaign
    preset = PRESETS.get(asked.preset.replace("_", "-"), {})
    extra: dict[str, Any] = {name: preset[name] for name in _PRESET_OPTIONS if name in preset}
    return Options(
        seed=seed_file(shard.seed),
        rounds=asked.rounds,
        pool=asked.pool,
        ops=tuple(asked.ops),
        modes=tuple(asked.modes),
        policy=asked.policy,
        random_seed=asked.random_seed + shard.index,
        **extra,
    )


def run_slice(
    shard: int,
    *,
    pool: Pool,
    pulse: Pulse,
    on_finding: OnFinding,
    epoch: int | None = None,
    seconds: float = SLICE_SECONDS,
    is_stopping: Callable[[], bool] = lambda: False,
    engine: Engine = campaign,
    recorded: Recorded = _nothing,
) -> Slice:
    """Claim a shard and run it until the slice is over, its rounds are done or it must stop.

    `recorded` is asked before a failure is minimised, so that shards do not pay twice.
    The slice ends after a recorded round, however long that took, so that every slice gets further.
    """
    claim = claim_shard(shard, owner=pulse.name, epoch=epoch)
    if claim is None:
        return Slice(claimed=False)
    until = monotonic() + seconds
    runner = _Runner(claim, pool, on_finding, engine, until, is_stopping, pulse, recorded)
    with pulse.hold(claim):
        hint = _guarded(runner)
    return Slice(claimed=True, rounds=runner.rounds, hint=hint)


def _guarded(runner: _Runner) -> Hint | None:
    """Run it; whatever goes wrong ends in a state of the shard that a person can read."""
    claim = runner.claim
    try:
        return runner.run()
    except LostLeaseError as lost:
        logger.info("%s", lost)
    except UnreadableCheckpointError as error:
        pause_for_checkpoint(claim, reason=str(error))
    except DatabaseProblem as error:
        # Not the shard's fault: later again. Where even this write fails the lease runs out.
        delay_shard(claim, error=f"{type(error).__name__}: {error}")
        raise
    except BadInput as error:
        logger.warning("%s failed: %s", claim.shard, error)
        fail_shard(claim, error=str(error))
    except Exception:  # the worker's one boundary: our own bugs stop one shard
        logger.exception("%s raised", claim.shard)
        if claim.shard.errors < _TRIES_AGAIN:
            # Processes may be killed and memory may be short; a bug of ours raises every time.
            delay_shard(claim, error=traceback.format_exc())
        else:
            fail_shard(claim, error=traceback.format_exc())
    except BaseException:
        # Told to leave at once: the round in flight is lost, the shard is free for others.
        release_shard(claim)
        raise
    return None


@dataclass
class _Runner:
    """One slice on its way."""

    claim: Claim
    pool: Pool
    on_finding: OnFinding
    engine: Engine
    until: float
    is_stopping: Callable[[], bool]
    pulse: Pulse
    recorded: Recorded
    rounds: int = 0
    spent: float = 0.0

    def run(self) -> Hint | None:
        """Events until it is time to stop; the hint for the next slice."""
        buffered: list[Finding] = []
        with closing(self._events()) as events:
            for event in events:
                if self.pulse.lost.is_set():
                    raise LostLeaseError(f"{self.claim.shard}: the lease was lost")
                match event:
                    case FindingFound():
                        buffered.append(event.finding)
                    case RoundFinished():
                        self._record(event, buffered)
                        buffered = []
                        if self._is_spent():
                            finish_shard(self.claim, reason="the time asked for is over")
                            return None
                    case CampaignFinished():
                        finish_shard(self.claim, reason=event.reason)
                        return None
                if self._is_over(event):
                    break
        return release_shard(self.claim)

    def _events(self) -> Generator[Event, None, None]:
        """The engine's events from the checkpoint on."""
        saved = read_checkpoint(self.claim.shard)
        options = options_of(self.claim.shard)
        events = self.engine(
            options,
            self.pool,
            checkpoint=saved.state,
            graph_text=saved.graph,
            corpus=saved.corpus,
            recorded=partial(self.recorded, self.claim.shard.campaign),
        )
        try:
            yield next(events)
        except StopIteration:
            return
        except BadInput as error:
            if saved.state is not None and error.thing.startswith("checkpoint"):
                raise UnreadableCheckpointError(str(error)) from error
            raise
        yield from events

    def _record(self, event: RoundFinished, findings: list[Finding]) -> None:
        record_round(self.claim, event=event, findings=findings, on_finding=self.on_finding)
        self.rounds += 1
        self.spent += event.seconds

    def _is_spent(self) -> bool:
        """Whether the shard had the time in rounds that its campaign gives it."""
        shard, minutes = self.claim.shard, self.claim.shard.campaign.minutes
        return minutes is not None and shard.seconds + self.spent >= minutes * 60

    def _is_over(self, event: Event) -> bool:
        """Only after a round, unless the round in flight could not be recorded anyway."""
        if not is_wanted(self.claim):
            return isinstance(event, RoundFinished) or self._is_cancelled()
        is_late = monotonic() >= self.until or self.is_stopping()
        return isinstance(event, RoundFinished) and is_late

    def _is_cancelled(self) -> bool:
        return not self.claim.held.exists()

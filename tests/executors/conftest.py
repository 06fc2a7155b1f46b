"""One pool for all tests of a process: importing the frameworks takes seconds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from engine.executors.outcome import Outcome
from engine.executors.pool import Pool
from tests.executors.jobs import job


@pytest.fixture(scope="session")
def pool() -> Iterator[Pool]:
    with Pool() as made:
        yield made


@pytest.fixture
def run(pool: Pool) -> Callable[..., Outcome]:
    """Run a source in a mode: `run("torch-eager", source, arrays, ...)` as `jobs.job`."""

    def run(mode: str, source: str, *args: Any, **options: Any) -> Outcome:
        return pool.run_jobs([job(mode, source, *args, **options)])[mode]

    return run

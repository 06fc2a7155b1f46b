"""Retests and searches on real MindSpore: one version everywhere, three where they are installed.

TEST_MINDSPORE_PYTHONS names interpreters with 2.8.0 and 2.9.0, separated by commas; make them with
`flowmut env add "mindspore 2.8.0" --spec "mindspore==2.8.0"`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from campaigns.environments import add_environment
from campaigns.models import Environment
from tests import factories
from triage import reruns, retesting, submitting
from triage.follow_up import follow_up
from triage.models import Bucket, Submission
from triage.retesting import learn
from triage.versions import bucket_row

pytestmark = [pytest.mark.django_db, pytest.mark.mindspore]

# Until 2.8.0 PyNative has no kernel of Trunc for float16, which fmod is made of; 2.9.0 has.
FIXED_IN_2_9 = '''"""ops.fmod of float16 raises in PyNative mode on CPU."""

import mindspore as ms
import numpy as np
from mindspore import Tensor, ops

x = Tensor(np.array([5.5, -3.25, 7.0], np.float16))
y = Tensor(np.array([2.0, 2.0, 4.0], np.float16))
try:
    answer = ops.fmod(x, y).asnumpy()
except (TypeError, RuntimeError) as error:
    raise AssertionError(f"fmod of float16 raises {type(error).__name__}: {error}") from error
assert np.array_equal(answer, np.fmod(x.asnumpy(), y.asnumpy())), answer
'''
# In every version so far; see the kinds "float64_log_softmax_of_float32_grade".
OPEN = '''"""ops.log_softmax of float64 is as accurate as float32."""

import mindspore as ms
import numpy as np
from mindspore import Tensor, ops

x = np.random.default_rng(0).normal(0, 5, (3, 7))
z = x - x.max(-1, keepdims=True)
exact = z - np.log(np.exp(z).sum(-1, keepdims=True))
answer = ops.log_softmax(Tensor(x), axis=-1).asnumpy()
np.testing.assert_allclose(answer, exact, rtol=1e-7, atol=1e-7)
'''


def made(text: str, at: Environment, scratch: Path) -> Bucket:
    """The bucket of a script that was submitted and failed there."""
    job = submitting.submit(text, name="one.py", who=factories.user(), environment=at, attempts=1)
    assert submitting.run_submission(job.pk, owner="one", scratch=scratch)
    done = Submission.objects.get(pk=job.pk)
    assert hasattr(done, "finding"), (done.reason, done.problem, done.answers)
    return done.finding.bucket


def work(scratch: Path) -> None:
    while hints := reruns.sweep_reruns():
        for hint in hints:
            assert reruns.run_rerun(hint.job, owner="one", scratch=scratch, on_end=learn)


def says(bucket: Bucket) -> dict[str, str]:
    row = bucket_row(bucket)
    return {one.column.version: one.said.outcome for one in row.cells if one.said}


def test_open_bug_is_submitted_and_fails_again_on_our_version(tmp_path: Path) -> None:
    own = add_environment("mindspore", interpreter=sys.executable, framework="mindspore")
    bucket = made(OPEN, own, tmp_path)
    retesting.retest([bucket], [own], who=factories.user(), attempts=1)
    work(tmp_path)
    assert says(bucket) == {own.version: "fails"}
    assert bucket_row(bucket).cells[0].said.words == "failed 1 of 1"  # type: ignore[union-attr]
    assert bucket_row(bucket).verified is None


@pytest.mark.slow
def test_bug_that_was_fixed_between_two_versions_is_found_as_such(tmp_path: Path) -> None:
    pythons = os.environ.get("TEST_MINDSPORE_PYTHONS", "")
    if not pythons:
        pytest.skip("TEST_MINDSPORE_PYTHONS names no interpreters with MindSpore 2.8.0 and 2.9.0")
    for number, path in enumerate([*pythons.split(","), sys.executable]):
        add_environment(f"mindspore {number}", interpreter=path, framework="mindspore")
    by_version = {one.version: one for one in Environment.objects.all()}
    assert {"2.8.0", "2.9.0", "2.10.0"} <= set(by_version)

    bucket = made(FIXED_IN_2_9, by_version["2.8.0"], tmp_path)
    search = retesting.ask_bisection(bucket, who=factories.user(), attempts=1)
    work(tmp_path)
    search.refresh_from_db()
    assert search.state == "finished"
    assert says(bucket) == {"2.8.0": "fails", "2.9.0": "passes", "2.10.0": "passes"}
    row = bucket_row(bucket)
    assert (row.standing.first_bad, str(row.standing.first_good)) == (None, "2.9.0")
    assert row.verified is None, "one attempt is too little"

    retesting.retest([bucket], [by_version["2.10.0"]], who=factories.user(), attempts=5)
    work(tmp_path)
    verified = bucket_row(bucket).verified
    assert verified is not None
    assert (verified.said.version, str(verified.newest_failing)) == ("2.10.0", "2.8.0")
    report = factories.report(bucket=bucket)
    assert "Conclusion: 通过" in follow_up(report, bucket_row(bucket))

    same = made(OPEN, by_version["2.8.0"], tmp_path)
    retesting.retest([same], by_version.values(), who=factories.user(), attempts=1)
    work(tmp_path)
    assert set(says(same).values()) == {"fails"}

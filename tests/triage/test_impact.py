"""Impact: points in upstream's words, and what makes an input an edge case."""

import pytest

from engine.errors import BadInput
from engine.finding import ModeAnswer, Reproduction
from tests import factories
from triage.impact import impact, impact_points
from triage.plausibility import unusual

PLAIN = """case 1

graph block
  input x: float32[2,2] = normal(seed=0, mean=0.0, std=1.0)
  v0: float32[2,2] = exp(x)
  return v0

plan
  call
  check values
"""


def reasons(**fields: object) -> list[str]:
    return [point.reason for point in impact_points(factories.engine_finding(**fields))]


def test_points_say_what_upstream_asks() -> None:
    points = impact_points(factories.engine_finding(minimised_text=PLAIN))
    assert [(point.points, point.reason) for point in points] == [
        (35, "silent wrong result"),
        (15, "plausible input: ordinary dtypes, extents and values"),
        (10, "documented API: torch.exp"),
        (10, "reproduced in 3 of 3 runs"),
        (5, "minimal script of 1 operator"),
        (0, "compiled modes only"),
    ]


def test_crash_names_the_mode_and_the_signal() -> None:
    died = reasons(answers=(ModeAnswer("torch-inductor", "died", "died SIGSEGV"),))
    assert died[0] == "crash: torch-inductor died SIGSEGV"
    answer = ModeAnswer("torch-eager", "raised", "raised RuntimeError: x INTERNAL ASSERT FAILED")
    assert "crash: internal assert" in reasons(symptom="crash", answers=(answer,))


def test_eager_failure_reaches_many_users() -> None:
    assert "many users: fails without compiling" in reasons(accused_modes=("torch-eager",))


@pytest.mark.parametrize(
    ("framework", "op", "calls", "reason"),
    [
        ("torch", "elu", "relu > elu.default", "documented API: F.elu: alpha=1.0"),
        ("torch", "view", "view.method", "documented API: Tensor.view"),
        ("mindspore", "relu", "relu.function", "documented API: ops.relu"),
        ("torch", "csr_matmul", "csr_matmul.composed", "no single documented API is accused"),
        ("torch", "no_such_op", "no_such_op.function", "no single documented API is accused"),
        ("torch", "relu", "exp.function", "no single documented API is accused"),
    ],
)
def test_documented_call_is_quoted(framework: str, op: str, calls: str, reason: str) -> None:
    assert reason in reasons(accused_framework=framework, accused_op=op, parts={"calls": calls})


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("x: float32[2,2] = normal(seed=0, mean=0.0, std=1.0)", ()),
        ("x: bfloat16[2,1] = uniform(seed=0, low=-4.0, high=4.0)", ()),
        ("x: complex64[2] = normal(seed=0, mean=0.0, std=1.0)", ("x is complex64",)),
        ("x: float32[2,0] = normal(seed=0, mean=0.0, std=1.0)", ("x is empty",)),
        ("x: float32[3] = [nan, nan, -inf]", ("NaN in x", "Inf in x")),
        ("x: float32[2] = [0.0, 1e30]", ("values like 1e+30 in x",)),
        ("x: float32[2] = [1.0, 1e-38]", ("values like 1e-38 in x",)),
        ("x: float32[2] = normal(seed=0, mean=0.0, std=1e6)", ("values like 1e+06 in x",)),
        ("x: float32[2] = formula full(value=inf)", ("Inf in x",)),
        (
            "x: float32[2] = normal(seed=0, mean=0.0, std=1.0) alias=g1",
            ("x shares its memory",),
        ),
    ],
)
def test_unusual_input_is_named(given: str, said: tuple[str, ...]) -> None:
    shape = given.split(" = ")[0].partition(": ")[2]
    text = PLAIN.replace("x: float32[2,2] = normal(seed=0, mean=0.0, std=1.0)", given).replace(
        "v0: float32[2,2]", f"v0: {shape}"
    )
    assert unusual(text) == said


def test_unusual_value_of_a_second_call_and_of_an_attribute_is_named() -> None:
    second = PLAIN.replace("  check", "  call x: float32[2,2] = [1.0, nan, 1.0, 1.0]\n  check")
    assert unusual(second) == ("NaN in x",)
    attribute = PLAIN.replace("exp(x)", "leaky_relu(x; slope=inf)")
    assert unusual(attribute) == ("slope of leaky_relu is Inf",)


def test_many_oddities_are_counted() -> None:
    lines = "".join(
        f"  input y{number}: float32[0] = normal(seed=0, mean=0.0, std=1.0)\n"
        for number in range(5)
    )
    text = PLAIN.replace("  v0", lines + "  v0")
    said = "edge case: y0 is empty, y1 is empty, y2 is empty and 2 more"
    assert said in reasons(minimised_text=text)


def test_unreadable_program_gains_nothing_and_loses_nothing_else() -> None:
    with pytest.raises(BadInput):
        unusual("case 99")
    found = reasons(minimised_text="case 99")
    assert "whether the input is plausible is not known: it cannot be read" in found


def test_failure_that_was_not_run_again_gets_no_points_for_it() -> None:
    never = factories.engine_finding(reproduction=Reproduction(0, 0))
    assert impact(never) == impact(factories.engine_finding()) - 10


@pytest.mark.django_db
def test_bucket_keeps_the_reasons_of_its_weightiest_member() -> None:
    bucket = factories.bucket(minimised_text=PLAIN)
    assert bucket.impact == 75
    factories.finding(bucket=bucket)
    bucket.refresh_from_db()
    assert bucket.impact == sum(points for points, _ in bucket.impact_points) == 75
    assert [15, "plausible input: ordinary dtypes, extents and values"] in bucket.impact_points

import pytest

from campaigns.charts import line_chart


def test_one_point_draws_nothing() -> None:
    assert line_chart(["12:00"], [("rounds", [1])]) is None


def test_lines_stay_inside_the_axes() -> None:
    chart = line_chart(["a", "b", "c"], [("rounds", [0, 5, 10]), ("failing", [0, 0, 1])])
    assert chart is not None
    points = [
        tuple(map(float, point.split(","))) for line in chart.lines for point in line.points.split()
    ]
    assert all(chart.left <= x <= chart.right and 0 <= y <= chart.bottom for x, y in points)
    assert [line.last for line in chart.lines] == [10, 1]


@pytest.mark.parametrize("top", [0, 1, 3, 9, 82, 1500, 123456])
def test_ticks_are_few_round_and_whole(top: int) -> None:
    chart = line_chart(["a", "b"], [("rounds", [0, top])])
    assert chart is not None
    values = [float(tick.text) for tick in chart.y_ticks]
    assert values[0] == 0
    assert 2 <= len(values) <= 6
    assert all(value.is_integer() for value in values)
    assert values[-1] <= max(top, 1)

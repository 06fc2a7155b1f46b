"""Paths are left out of what strangers read."""

from __future__ import annotations

from engine.places import without_places


def test_reports_do_not_tell_where_things_lie_on_our_machine() -> None:
    log = (
        'File "/home/ada/project/lib/python3.11/site-packages/numpy/testing/utils.py", line 1\n'
        'File "/usr/lib/python3.11/contextlib.py", line 81\n'
        'File "/home/ada/run/reproducer.py", line 3\n'
        "mindspore/core/include/abstract/dshape.h:99 GetShapeVector\n"
        "see https://www.mindspore.cn/search?inputValue=/rank_0/om/analyze_fail.ir\n"
    )
    text = without_places(log)
    assert "/home" not in text
    assert 'File ".../site-packages/numpy/testing/utils.py"' in text
    assert 'File ".../python3.11/contextlib.py"' in text
    assert 'File "reproducer.py"' in text
    assert "mindspore/core/include/abstract/dshape.h:99" in text
    assert "https://www.mindspore.cn/search?inputValue=/rank_0/om/analyze_fail.ir" in text

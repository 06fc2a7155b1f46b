import json
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings

from engine.errors import BadInput
from engine.ir.case import Case
from engine.ir.codec import blob_path, from_json, load_case, save_case, to_json
from engine.ir.digest import blob_digest
from engine.ir.graph import Graph, Input, StoredBlob
from engine.ir.text import parse_case, print_case
from engine.ir.types import Dense
from engine.ir.values import materialise
from tests.strategies import cases

ARRAY = np.arange(6, dtype=np.float32).reshape(2, 3)
NARROW = np.array([1.5, -0.0, np.nan], ml_dtypes.bfloat16)


def with_blobs() -> tuple[Case, dict[str, np.ndarray[tuple[int, ...], np.dtype[np.generic]]]]:
    blobs = {blob_digest(array): array for array in (ARRAY, NARROW)}
    one = Input("x", Dense("float32", (2, 3)), init=StoredBlob(blob_digest(ARRAY)))
    other = Input("y", Dense("bfloat16", (3,)), init=StoredBlob(blob_digest(NARROW)))
    return Case(Graph("g", (one, other), (), ("x", "y"))), blobs


@given(cases())
@settings(max_examples=50)
def test_case_comes_back_from_json(case: Case) -> None:
    text = json.dumps(to_json(case), allow_nan=False)
    assert from_json(json.loads(text)) == case


@pytest.mark.parametrize("part", ["case", "claim", "graph", "plan"])
def test_json_with_a_part_missing_names_the_part(part: str) -> None:
    data = to_json(with_blobs()[0])
    del data[part]
    with pytest.raises(BadInput, match=rf"case: saw .* expected an object with '{part}'"):
        from_json(data)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("graph", "inputs", 0, "type"), "float3[2]", r"case\.graph\.inputs\[0\]\.type"),
        (("graph", "outputs"), "x", r"case\.graph\.outputs: saw 'x', expected a list"),
        (("graph", "outputs", 0), "q", "the graph returns q, which is not defined"),
        (("plan", "loss_outputs"), [True], "expected a whole number"),
        (("case",), 7, "version 1 of the format"),
    ],
)
def test_json_with_a_wrong_part_names_it(
    path: tuple[str | int, ...], value: object, message: str
) -> None:
    data = json.loads(json.dumps(to_json(with_blobs()[0])))
    part = data
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    with pytest.raises(BadInput, match=message):
        from_json(data)


def test_case_and_blobs_come_back_from_files(tmp_path: Path) -> None:
    case, blobs = with_blobs()
    path = tmp_path / "found.flow"
    save_case(path, case, {**blobs, "0" * 64: np.zeros(9)})
    loaded, arrays = load_case(path)
    assert loaded == case
    assert path.read_text() == print_case(case)
    assert sorted(arrays) == sorted(blobs)
    values = materialise(loaded.graph, arrays)
    assert values["x"].tobytes() == ARRAY.tobytes()
    assert values["y"].dtype == ml_dtypes.bfloat16
    assert values["y"].tobytes() == NARROW.tobytes()


def test_saving_leaves_nothing_but_the_two_files(tmp_path: Path) -> None:
    case, blobs = with_blobs()
    save_case(tmp_path / "a.flow", case, blobs)
    save_case(tmp_path / "a.flow", case, blobs)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a.flow", "a.npz"]


def test_case_without_blobs_has_no_archive(tmp_path: Path) -> None:
    case = parse_case("case 1\ngraph g\ninput x: float32[2] = normal(seed=0)\nreturn x\n")
    save_case(tmp_path / "a.flow", case, {})
    assert load_case(tmp_path / "a.flow") == (case, {})
    assert not blob_path(tmp_path / "a.flow").exists()


def test_failed_write_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case, blobs = with_blobs()
    path = tmp_path / "a.flow"
    save_case(path, case, blobs)
    before = path.read_bytes()

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        save_case(path, Case(case.graph, claim="changing"), blobs)
    assert path.read_bytes() == before
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a.flow", "a.npz"]


def test_blob_that_the_case_needs_must_be_given(tmp_path: Path) -> None:
    case, _ = with_blobs()
    with pytest.raises(BadInput, match="saw no blob"):
        save_case(tmp_path / "a.flow", case, {})
    assert list(tmp_path.iterdir()) == []


def saved(folder: Path) -> Path:
    case, blobs = with_blobs()
    save_case(folder / "a.flow", case, blobs)
    return folder / "a.flow"


def test_missing_archive_is_bad_input(tmp_path: Path) -> None:
    path = saved(tmp_path)
    blob_path(path).unlink()
    with pytest.raises(BadInput, match=r"a\.npz: saw .*No such file"):
        load_case(path)


@pytest.mark.parametrize("keep", [0, 1, 30, 200, -1])
def test_truncated_archive_is_bad_input(tmp_path: Path, keep: int) -> None:
    path = saved(tmp_path)
    blob_path(path).write_bytes(blob_path(path).read_bytes()[:keep])
    with pytest.raises(BadInput, match=r"a\.npz"):
        load_case(path)


def test_every_flipped_byte_of_an_archive_is_noticed_or_harmless(tmp_path: Path) -> None:
    path = saved(tmp_path)
    whole = blob_path(path).read_bytes()
    _, expected = load_case(path)
    noticed = 0
    for at in range(0, len(whole), 3):
        blob_path(path).write_bytes(whole[:at] + bytes([whole[at] ^ 0x41]) + whole[at + 1 :])
        try:
            _, found = load_case(path)
        except BadInput as error:
            noticed += "a.npz" in str(error)
        else:
            assert {name: one.tobytes() for name, one in found.items()} == {
                name: one.tobytes() for name, one in expected.items()
            }
    assert noticed > len(whole) / 6


def test_archive_with_other_bytes_is_bad_input(tmp_path: Path) -> None:
    path = saved(tmp_path)
    digests = sorted(load_case(path)[1])
    np.savez(blob_path(path), **{digest: np.zeros(3) for digest in digests})
    with pytest.raises(BadInput, match=f"other bytes, expected the blob with digest {digests[0]}"):
        load_case(path)


def test_archive_without_a_blob_is_bad_input(tmp_path: Path) -> None:
    path = saved(tmp_path)
    np.savez(blob_path(path), other=np.zeros(3))
    with pytest.raises(BadInput, match="expected all blobs of its case"):
        load_case(path)


def test_archive_of_pickles_is_refused(tmp_path: Path) -> None:
    path = saved(tmp_path)
    digests = sorted(load_case(path)[1])
    np.savez(blob_path(path), **{digest: np.array([{}], object) for digest in digests})
    with pytest.raises(BadInput, match="a NumPy archive"):
        load_case(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"\xff\xfe", "a readable text file"),
        (b"case 1\ngraph g\n", "line 3: saw the end of the text"),
        (b"case 1\ngraph g\nv: float32[] = neg(v)\nreturn v\n", "cycle: v uses itself"),
    ],
)
def test_wrong_case_file_is_bad_input_naming_the_file(
    tmp_path: Path, text: bytes, message: str
) -> None:
    path = tmp_path / "bad.flow"
    path.write_bytes(text)
    with pytest.raises(BadInput, match=r"bad\.flow") as caught:
        load_case(path)
    assert message in str(caught.value)


def test_missing_case_file_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"none\.flow"):
        load_case(tmp_path / "none.flow")

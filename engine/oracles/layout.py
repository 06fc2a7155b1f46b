"""Layout oracles: whether an answer shares storage with an input, and its strides, as promised."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from engine.executors.apis import public_api
from engine.executors.outcome import Answer
from engine.ir.graph import Graph, Node
from engine.ir.types import contiguous_strides
from engine.oracles.comparison import Comparison, framework_of
from engine.oracles.keys import form_of
from engine.oracles.promises import COPIES, LISTED_VIEWS, ROW_MAJOR, VIEWS
from engine.oracles.verdict import Divergence, Kind

__all__ = ["promised_storage", "promised_strides"]

# For an answer of a mode: whether the promise is kept, None where the mode does not tell.
_Kept = Callable[[Answer], bool | None]


def promised_storage(comparison: Comparison) -> Iterator[Divergence | str]:
    """Copies that share an input's storage, and views that do not."""
    if not comparison.checks_state:
        return
    graph = comparison.case.graph
    for place, name in enumerate(graph.outputs):
        root = graph.alias_root(name)
        for framework in comparison.frameworks():
            copied = COPIES.get(framework, {}).get(_op(graph, root))
            if copied:
                said = "a copy shares its operand's storage"
                yield from _judged(comparison, framework, place, said, copied, _owns_storage)
            viewed = _promised_view(graph, name, framework)
            if viewed and root in graph.input_by_name:
                said = "a view has storage of its own"
                kept = partial(_shares_storage, root=root)
                yield from _judged(comparison, framework, place, said, viewed, kept)


def _owns_storage(answer: Answer) -> bool | None:
    return None if answer.shares is None else not answer.shares


def _shares_storage(answer: Answer, *, root: str) -> bool | None:
    return None if answer.shares is None or not _size(answer) else root in answer.shares


def promised_strides(comparison: Comparison) -> Iterator[Divergence | str]:
    """Results that are promised to be contiguous and are not."""
    if not comparison.checks_state:
        return
    graph = comparison.case.graph
    for place, name in enumerate(graph.outputs):
        for framework in comparison.frameworks():
            promised = ROW_MAJOR.get(framework, {}).get(_op(graph, name))
            if promised:
                said = "a contiguous result is strided"
                yield from _judged(comparison, framework, place, said, promised, _is_row_major)


def _judged(
    comparison: Comparison, framework: str, place: int, message: str, source: str, kept: _Kept
) -> Iterator[Divergence | str]:
    """Accuse the modes of a framework that break a promise which another mode keeps."""
    name = comparison.case.graph.outputs[place]
    seen = _answers(comparison, place)
    found = {mode: kept(answer) for mode, answer in seen.items()}
    broken = [mode for mode, one in found.items() if one is False]
    accused = [mode for mode in broken if framework_of(mode) == framework]
    keeping = {mode for mode, one in found.items() if one}
    if not accused:
        return
    if not any(comparison.witnesses(mode, keeping) for mode in accused):
        yield f"{name}: {message} in {', '.join(accused)}, but no other mode keeps the promise"
        return
    yield Divergence(
        Kind.LAYOUT,
        framework,
        tuple(accused),
        value=name,
        message=message,
        evidence=(
            source,
            *(f"{mode}: {_shown(seen[mode])}" for mode in (*accused, *sorted(keeping))),
        ),
    )


def _answers(comparison: Comparison, place: int) -> Mapping[str, Answer]:
    return {mode: answer.outputs[place] for mode, answer in comparison.aligned(0).items()}


def _shown(answer: Answer) -> str:
    shares = f"shares storage with {', '.join(answer.shares)}" if answer.shares else "own storage"
    return f"strides {answer.strides}, {shares}"


def _op(graph: Graph, name: str) -> str:
    node = _made_by(graph, name)
    return node.op if node else ""


def _made_by(graph: Graph, name: str) -> Node | None:
    node = graph.by_name.get(name)
    return graph.by_name.get(node.uses[0]) if node and node.op == "item" else node


def _promised_view(graph: Graph, name: str, framework: str) -> str:
    """The source of the promise that a value is a view of an input, through promised views only."""
    promised = VIEWS.get(framework, {})
    source = ""
    node = _made_by(graph, name)
    while node is not None:
        if node.writes is None and not (
            node.op in promised and _is_listed_view(graph, node, framework)
        ):
            return ""
        source = source or promised.get(node.op, "")
        node = _made_by(graph, node.writes or node.views or "")
    return source


def _is_listed_view(graph: Graph, node: Node, framework: str) -> bool:
    """Whether the call is written as the page has it: by a listed name, or by basic slicing."""
    found = form_of(graph, node, framework)
    if found is None:
        return False
    api = public_api(found[1], framework)
    if api:
        return api.rpartition(".")[2] in LISTED_VIEWS
    return found[1].call.startswith("{x}[") or node.op == "detach"


def _is_row_major(answer: Answer) -> bool | None:
    if answer.strides is None:
        return None
    wanted = contiguous_strides(answer.shape)
    # The stride of an axis of extent 1 says nothing.
    return not _size(answer) or all(
        extent == 1 or one == two
        for extent, one, two in zip(answer.shape, answer.strides, wanted, strict=True)
    )


def _size(answer: Answer) -> int:
    size = 1
    for extent in answer.shape:
        size *= extent
    return size

"""Nodes with bodies as Python: loops as statements, or a function for each body and a call.

What a form is called says how it is written: "builtin" forms use Python alone, "primitive" forms
the framework's operator for the loop. A function that is given to such an operator gets what its
body reads from outside as further carried values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from engine.executors.source import Names, Scope, Text, indented, results
from engine.ir.graph import Node, Region

__all__ = ["ControlWriter"]


class _Writer(Protocol):
    """The writer of the file, which writes the nodes of a body."""

    @property
    def names(self) -> Names: ...

    def nodes(self, nodes: Iterable[Node], scope: Scope) -> Iterator[Text]: ...


@dataclass(frozen=True)
class ControlWriter:
    """Writes one node with bodies in one of its forms."""

    node: Node
    scope: Scope
    form: str
    writer: _Writer

    def write(self) -> Iterator[Text]:
        """The statements; the last assigns the node's value."""
        match self.node.op, self.form:
            case "for", "primitive":
                yield from self._for_primitive()
            case "while", "primitive":
                yield from self._while_primitive()
            case "scan", "primitive":
                yield from self._scan_primitive()
            case "map", _:
                yield from self._map()
            case "filter", _:
                yield from self._filter()
            case "scan", _:
                yield from self._scan()
            case _:
                yield from self._loop()

    # ---- names
    @property
    def _given(self) -> list[str]:
        """What the operands are called."""
        return [self.scope.names[name] for name in self.node.operands if name]

    @property
    def _target(self) -> str:
        return self.scope.names[self.node.name]

    def _fresh(self, wanted: str) -> str:
        return self.writer.names.fresh(wanted)

    def _parameters(self, region: Region) -> list[str]:
        return [self._fresh(one.name) for one in region.parameters]

    def _inner(
        self, region: Region, parameters: list[str], outside: Mapping[str, str] | None = None
    ) -> Scope:
        """What a body's values are called; `outside` renames what it captures."""
        seen = {**self.scope.names, **(outside or {})}
        pairs = zip(region.parameters, parameters, strict=True)
        names = {one.name: name for one, name in pairs}
        names |= {inner: seen[outer] for inner, outer in region.captures}
        names |= {one.name: self._fresh(one.name) for one in region.nodes}
        types = {inner: self.scope.types[outer] for inner, outer in region.captures}
        types |= {one.name: one.type for one in region.parameters}
        types |= {one.name: one.type for one in region.nodes}
        known = self.scope.inputs
        inputs = {inner: known[outer] for inner, outer in region.captures if outer in known}
        return Scope(names, types, inputs)

    def _captured(self) -> list[str]:
        """Values from outside that the bodies read, each once."""
        bodies = self.node.regions
        return list(dict.fromkeys(outer for one in bodies for _, outer in one.captures))

    # ---- a function for a body
    def _function(self, region: Region, wanted: str) -> tuple[str, list[Text]]:
        """Its name and its text; what it captures it reads from the enclosing function."""
        name, parameters = self._fresh(wanted), self._parameters(region)
        inner = self._inner(region, parameters)
        return name, [
            Text(f"def {name}({', '.join(parameters)}):"),
            *indented(
                [*self.writer.nodes(region.nodes, inner), Text(f"return {results(region, inner)}")]
            ),
        ]

    def _elements(self, names: list[str]) -> str:
        return f"({', '.join(names)},)" if len(names) == 1 else f"({', '.join(names)})"

    def _map(self) -> Iterator[Text]:
        body, text = self._function(self.node.regions[0], "body")
        yield from text
        elements = self._elements(self._given)
        one = self._fresh("one")
        match self.form:
            case "builtin_list":
                call = f"tuple([{body}({one}) for {one} in {elements}])"
            case "builtin_generator":
                call = f"tuple({body}({one}) for {one} in {elements})"
            case "primitive":
                call = f"ops.Map()({body}, {elements})"
            case _:
                call = f"tuple(map({body}, {elements}))"
        yield Text(f"{self._target} = {call}")

    def _filter(self) -> Iterator[Text]:
        keep, text = self._function(self.node.regions[0], "keep")
        yield from text
        elements, one, total = (
            self._elements(self._given),
            self._fresh("one"),
            self._fresh("total"),
        )
        kept = (
            f"[{one} for {one} in {elements} if {keep}({one})]"
            if self.form == "builtin_list"
            else f"filter({keep}, {elements})"
        )
        yield Text(f"{total} = {self._given[0]} * 0")
        yield Text(f"for {one} in {kept}:")
        yield from indented([Text(f"{total} = {total} + {one}")])
        yield Text(f"{self._target} = {total}")

    # ---- scan
    def _scan(self) -> Iterator[Text]:
        body = self.node.regions[0]
        first, *elements = self._given
        carried, element = self._parameters(body)
        found = self._fresh("found")
        inner = self._inner(body, [carried, element])
        after, shown = (inner.names[name] for name in body.results)
        yield Text(f"{carried} = {first}")
        yield Text(f"{found} = []")
        yield Text(f"for {element} in {self._elements(elements)}:")
        yield from indented(
            [
                *self.writer.nodes(body.nodes, inner),
                Text(f"{found}.append({shown})"),
                Text(f"{carried} = {after}"),
            ]
        )
        yield Text(f"{self._target} = {self._with_items(carried, found, len(elements))}")

    def _with_items(self, first: str, found: str, count: int) -> str:
        return f"({', '.join([first, *(f'{found}[{at}]' for at in range(count))])})"

    # ---- the framework's operators
    def _handed(self, *, more: Mapping[str, str]) -> tuple[list[str], list[str], dict[str, str]]:
        """Carried names inside, what they start from, and what captures are called inside.

        `more` are further carried values with their first.
        """
        parameters = self._parameters(self.node.regions[-1])
        outside = {outer: self._fresh(outer) for outer in self._captured()}
        inside = [*parameters, *outside.values(), *more]
        start = [*self._given[: len(parameters)], *(self.scope.names[one] for one in outside)]
        return inside, [*start, *more.values()], outside

    def _state(self, inside: list[str], carried: str) -> list[Text]:
        """Unpacks the carried state where there is more than one value."""
        return [Text(f"{', '.join(inside)} = {carried}")] if len(inside) > 1 else []

    def _packed(self, names: list[str]) -> str:
        return names[0] if len(names) == 1 else f"({', '.join(names)})"

    def _for_primitive(self) -> Iterator[Text]:
        body = self.node.regions[-1]
        inside, start, outside = self._handed(more={})
        count = len(body.parameters)
        inner = self._inner(body, inside[:count], outside)
        name, turn = self._fresh("body"), self._fresh("turn")
        carried = self._fresh("carried") if len(inside) > 1 else inside[0]
        after = [*(inner.names[one] for one in body.results), *inside[count:]]
        yield Text(f"def {name}({turn}, {carried}):")
        yield from indented(
            [
                *self._state(inside, carried),
                *self.writer.nodes(body.nodes, inner),
                Text(f"return {self._packed(after)}"),
            ]
        )
        call = f"ops.ForiLoop()(0, {self.node.attr('trips')}, {name}, {self._packed(start)})"
        yield from self._first_of(call, count, len(inside))

    def _while_primitive(self) -> Iterator[Text]:
        *conditions, body = self.node.regions
        turns = self._fresh("turns")
        inside, start, outside = self._handed(more={turns: "Tensor(0, ms.int32)"})
        count = len(body.parameters)
        test, name, carried = self._fresh("test"), self._fresh("body"), self._fresh("carried")
        yield Text(f"def {test}({carried}):")
        holds, lines = f"{turns} < {self.node.bound}", self._state(inside, carried)
        for condition in conditions:
            inner = self._inner(condition, inside[:count], outside)
            lines += self.writer.nodes(condition.nodes, inner)
            holds = f"ops.logical_and({results(condition, inner)}, {holds})"
        yield from indented([*lines, Text(f"return {holds}")])
        inner = self._inner(body, inside[:count], outside)
        after = [*(inner.names[one] for one in body.results), *inside[count:-1], f"{turns} + 1"]
        yield Text(f"def {name}({carried}):")
        yield from indented(
            [
                *self._state(inside, carried),
                *self.writer.nodes(body.nodes, inner),
                Text(f"return {self._packed(after)}"),
            ]
        )
        call = f"ops.WhileLoop()({test}, {name}, {self._packed(start)})"
        yield from self._first_of(call, count, len(inside))

    def _first_of(self, call: str, count: int, total: int) -> Iterator[Text]:
        """The carried values among all that the loop gives back."""
        yield Text(f"{self._target} = {call}")
        if total > count:
            cut = "[0]" if count == 1 else f"[:{count}]"
            yield Text(f"{self._target} = {self._target}{cut}")

    def _scan_primitive(self) -> Iterator[Text]:
        body = self.node.regions[0]
        first, *elements = self._given
        carried, element = self._parameters(body)
        outside = {outer: self._fresh(outer) for outer in self._captured()}
        inner = self._inner(body, [carried, element], outside)
        name = self._fresh("body")
        state = self._fresh("state") if outside else carried
        after, shown = (inner.names[one] for one in body.results)
        inside = [carried, *outside.values()]
        yield Text(f"def {name}({state}, {element}):")
        yield from indented(
            [
                *self._state(inside, state),
                *self.writer.nodes(body.nodes, inner),
                Text(f"return {self._packed([after, *outside.values()])}, {shown}"),
            ]
        )
        start = self._packed([first, *(self.scope.names[one] for one in outside)])
        last, found = self._fresh("last"), self._fresh("found")
        elements_text = self._elements(elements)
        yield Text(f"{last}, {found} = ops.Scan()({name}, {start}, {elements_text})")
        kept = f"{last}[0]" if outside else last
        yield Text(f"{self._target} = {self._with_items(kept, found, len(elements))}")

    # ---- loops
    def _loop(self) -> Iterator[Text]:
        """Assign the carried values, then a Python loop whose body assigns them anew."""
        node, body = self.node, self.node.regions[-1]
        carried = self._parameters(body)
        targets = ", ".join(carried)
        yield Text(f"{targets} = {', '.join(self._given)}")
        inner = self._inner(body, carried)
        step = [
            *self.writer.nodes(body.nodes, inner),
            Text(f"{targets} = {results(body, inner)}"),
        ]
        if node.op == "for":
            yield Text(f"for {self._fresh('turn')} in range({node.attr('trips')}):")
            yield from indented(step)
        else:
            yield from self._while(step, carried)
        result = f"({targets})" if len(carried) > 1 else targets
        yield Text(f"{self._target} = {result}")

    def _while(self, step: list[Text], carried: list[str]) -> Iterator[Text]:
        """Count the turns and, where there is a body for it, test a condition before each."""
        count, bound = self._fresh("turns"), self.node.bound
        test: list[Text] = []
        for condition in self.node.regions[:-1]:
            inner = self._inner(condition, carried)
            test += self.writer.nodes(condition.nodes, inner)
            if self.form == "builtin_and":
                yield from (Text(f"{count} = 0"), *test)
                yield Text(f"while {results(condition, inner)} and {count} < {bound}:")
                yield from indented([*step, Text(f"{count} = {count} + 1"), *test])
                return
            test += [Text(f"if not {results(condition, inner)}:"), Text("    break")]
        yield Text(f"{count} = 0")
        yield Text(f"while {count} < {bound}:")
        yield from indented([*test, *step, Text(f"{count} = {count} + 1")])

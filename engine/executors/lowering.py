"""From a case to the source file that runs and that a report shows: straight line, a node a line.

The layout of the file is in docs/architecture.md. What a node's line says is a form of its
operator's row; nothing here knows an operator, but for the loops, which are statements.
"""

from __future__ import annotations

import ast
import builtins
import keyword
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from engine.errors import EngineError
from engine.executors.apis import MODULES, public_api
from engine.ir.case import Case
from engine.ir.graph import Attr, Graph, Node, Region
from engine.ir.types import COMPLEX, FLOATS, Dense, Type, is_float
from engine.ops.spec import FRAMEWORKS, Form, Limit, OpCall, OpSpec
from engine.ops.typing import ITEM, bind, call_of_node, spec_of

__all__ = ["Cotangent", "Lowered", "Unsupported", "has_form", "lower"]


class Unsupported(EngineError):
    """A framework has no way to write this case; the message says which node and why."""


@dataclass(frozen=True)
class Cotangent:
    """A further input of `loss`: fixed numbers that weigh the output at position `output`."""

    name: str
    output: int
    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True)
class Lowered:
    """A case written for one framework.

    `inputs`: names of the graph's inputs in the order of `forward`'s arguments. `setup_inputs`:
    those that `setup` takes, empty where the file has no `setup`. `cotangents`: what `loss` takes
    after the inputs; empty where the file has no `loss`, because the plan asks for no gradient or
    no output can be differentiated. `module_names`: the objects that forms built beforehand.
    `lines`: 1-based line of the source to the name of its node. `forms`: the form each node is
    written in, by node name. `apis`: public names of what is called, in order, without repeats.
    """

    framework: str
    source: str
    inputs: tuple[str, ...]
    setup_inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    cotangents: tuple[Cotangent, ...]
    module_names: tuple[str, ...]
    lines: Mapping[int, str]
    forms: Mapping[str, str]
    apis: tuple[str, ...]


def lower(case: Case, framework: str, *, dtype_override: str | None = None) -> Lowered:
    """Write the case for "torch" or "mindspore"; `Unsupported` where no form holds.

    `dtype_override` is for a run whose floating inputs are all given in that dtype: attributes that
    name a floating dtype then name it too.
    """
    assert framework in FRAMEWORKS, f"framework {framework}: expected one of {FRAMEWORKS}"
    return _Writer(case, framework, dtype_override).write()


def has_form(node: Node, types: Mapping[str, Type], framework: str) -> bool:
    """Whether a framework can write this call in some form that no limit excludes."""
    if node.op == ITEM or node.regions:
        return True
    spec = spec_of(node)
    call = call_of_node(node, types)
    return any(
        not any(_limits(spec, one, name, call) for one in spec.limits if one.framework == framework)
        for name in spec.forms_for(framework, call)
    )


# -------------------------------------------------------------------------------------- names
_RESERVED = frozenset(
    {*keyword.kwlist, *dir(builtins), *MODULES["torch"], *MODULES["mindspore"]}
    | {"mindspore", "forward", "loss", "setup"}
)


@dataclass
class _Names:
    """Names of Python variables: a value keeps its name where Python allows it."""

    taken: set[str] = field(default_factory=lambda: set(_RESERVED))

    def fresh(self, wanted: str) -> str:
        found = wanted
        number = 0
        while found in self.taken:
            number += 1
            found = f"{wanted}_" if number == 1 else f"{wanted}_{number}"
        self.taken.add(found)
        return found


@dataclass(frozen=True)
class _Scope:
    """What the values of a graph or a body are called in the source, and what is known of them.

    `inputs` has the values that are graph inputs, under the name that the input has in the graph.
    """

    names: Mapping[str, str]
    types: Mapping[str, Type]
    inputs: Mapping[str, str]


@dataclass(frozen=True)
class _Text:
    """A line of the source and the node it belongs to."""

    text: str
    node: str = ""


# ------------------------------------------------------------------------------------- writer
@dataclass
class _Writer:
    case: Case
    framework: str
    override: str | None
    names: _Names = field(default_factory=_Names)
    module: list[_Text] = field(default_factory=list)
    setup: list[_Text] = field(default_factory=list)
    objects: list[str] = field(default_factory=list)
    setup_objects: list[str] = field(default_factory=list)
    setup_inputs: set[str] = field(default_factory=set)
    forms: dict[str, str] = field(default_factory=dict)
    apis: dict[str, None] = field(default_factory=dict)

    @property
    def graph(self) -> Graph:
        return self.case.graph

    def write(self) -> Lowered:
        inputs = {given.name: given.name for given in self.graph.inputs}
        names = {name: self.names.fresh(name) for name in self.graph.types}
        scope = _Scope(names, self.graph.types, inputs)
        body = list(self._nodes(self.graph.nodes, scope))
        results = ", ".join(names[name] for name in self.graph.outputs)
        forward = [
            _Text(f"def forward({', '.join(names[name] for name in inputs)}):"),
            *_indented([*body, _Text(f"return {results}")]),
        ]
        cotangents = self._cotangents()
        lines = _assembled(
            [self.module, self._setup(names), forward, self._loss(names, cotangents)],
            self.framework,
        )
        return Lowered(
            framework=self.framework,
            source="".join(f"{line.text}\n" for line in lines),
            inputs=tuple(inputs),
            setup_inputs=tuple(name for name in inputs if name in self.setup_inputs),
            outputs=self.graph.outputs,
            cotangents=cotangents,
            module_names=tuple(self.objects),
            lines={at: line.node for at, line in enumerate(lines, 1) if line.node},
            forms=self.forms,
            apis=tuple(self.apis),
        )

    def _setup(self, names: Mapping[str, str]) -> list[_Text]:
        if not self.setup:
            return []
        given = [names[one.name] for one in self.graph.inputs if one.name in self.setup_inputs]
        share = _Text(f"global {', '.join(self.setup_objects)}")
        return [_Text(f"def setup({', '.join(given)}):"), *_indented([share, *self.setup])]

    # ---- the gradient
    def _cotangents(self) -> tuple[Cotangent, ...]:
        plan = self.case.plan
        if plan.gradient == "none":
            return ()
        found: list[Cotangent] = []
        for position in plan.loss_outputs or range(len(self.graph.outputs)):
            of = self.graph.types[self.graph.outputs[position]]
            if isinstance(of, Dense) and is_float(of.dtype) and of.is_static:
                name = self.names.fresh(f"c{len(found)}")
                dtype = self.override or ("float64" if of.dtype == "float64" else "float32")
                found.append(Cotangent(name, position, of.extents, dtype))
        return tuple(found)

    def _loss(self, names: Mapping[str, str], cotangents: tuple[Cotangent, ...]) -> list[_Text]:
        if not cotangents:
            return []
        inputs = [names[given.name] for given in self.graph.inputs]
        outputs = [names[name] for name in self.graph.outputs]
        if len(set(outputs)) < len(outputs):
            outputs = [self.names.fresh(f"{name}_{at}") for at, name in enumerate(outputs)]
        terms = [self._term(outputs[one.output], one) for one in cotangents]
        return [
            _Text(f"def loss({', '.join([*inputs, *(one.name for one in cotangents)])}):"),
            _Text(f"    {', '.join(outputs)} = forward({', '.join(inputs)})"),
            _Text(f"    return {' + '.join(terms)}"),
        ]

    def _term(self, output: str, cotangent: Cotangent) -> str:
        of = self.graph.types[self.graph.outputs[cotangent.output]]
        if self.override is None and isinstance(of, Dense) and of.dtype != cotangent.dtype:
            change = "to" if self.framework == "torch" else "astype"
            output = f"{output}.{change}({self._dtype(cotangent.dtype)})"
        return f"({output} * {cotangent.name}).sum()"

    # ---- nodes
    def _nodes(self, nodes: Iterable[Node], scope: _Scope) -> Iterator[_Text]:
        for node in nodes:
            if node.op == ITEM:
                whole = scope.names[node.uses[0]]
                yield _Text(f"{scope.names[node.name]} = {whole}[{node.attr('index')}]", node.name)
            elif node.regions:
                self.forms[node.name] = "builtin"
                yield from (_Text(line.text, node.name) for line in self._loop(node, scope))
            else:
                yield from self._call(node, scope)

    def _call(self, node: Node, scope: _Scope) -> Iterator[_Text]:
        spec = spec_of(node)
        name, form = self._form(spec, node, scope)
        self.forms[node.name] = name
        api = public_api(form, self.framework)
        if api:
            self.apis[api] = None
        fill = self._fill(spec, node, scope)
        if form.setup:
            fill["self"] = self._build(spec, node, form, scope)
        for statement in form.before:
            yield from _statement(statement, fill, node)
        target = scope.names[node.name]
        text = form.call.format_map(fill)
        if form.result is None:
            yield _Text(f"{target} = {text}", node.name)
        elif form.result.count("{out}") == 1 and _binds_tightly(text):
            yield _Text(f"{target} = {form.result.format_map({**fill, 'out': text})}", node.name)
        else:
            yield _Text(f"{target} = {text}", node.name)
            result = form.result.format_map({**fill, "out": target})
            yield _Text(f"{target} = {result}", node.name)

    def _form(self, spec: OpSpec, node: Node, scope: _Scope) -> tuple[str, Form]:
        """The form the node asks for, else the plainest that can be written here."""
        call = call_of_node(node, scope.types)
        table = spec.forms.get(self.framework, {})
        wanted = node.form(self.framework)
        for name in (wanted, *table):
            form = table.get(name)
            if form and form.holds(call) and self._can_set_up(spec, node, form, scope):
                break
        else:
            raise Unsupported(
                f"{node.name}: {spec.name} has no {self.framework} form for this call"
            )
        for limit in spec.limits:
            if limit.framework == self.framework and _limits(spec, limit, name, call):
                raise Unsupported(f"{node.name}: {spec.name} as {name}: {limit.reason}")
        return name, form

    def _can_set_up(self, spec: OpSpec, node: Node, form: Form, scope: _Scope) -> bool:
        """Whether what the form builds beforehand is known then: inputs that no call replaces."""
        if not form.setup:
            return True
        replaced = {given.name for call in self.case.plan.calls for given in call.inputs}
        needed = _set_up_with(spec, node, form)
        return all(name in scope.inputs and scope.inputs[name] not in replaced for name in needed)

    def _build(self, spec: OpSpec, node: Node, form: Form, scope: _Scope) -> str:
        """Write the statements that build the node's object; answer the object's name."""
        name = self.names.fresh(f"{node.op}_{node.name}")
        self.objects.append(name)
        needed = {scope.inputs[value] for value in _set_up_with(spec, node, form)}
        if needed:
            self.setup_objects.append(name)
            self.setup_inputs |= needed
        fill = {**self._fill(spec, node, scope), "self": name}
        for statement in form.setup:
            (self.setup if needed else self.module).extend(_statement(statement, fill, node))
        return name

    def _fill(self, spec: OpSpec, node: Node, scope: _Scope) -> dict[str, str]:
        """What each placeholder of a form stands for in this node."""
        fill: dict[str, str] = {}
        for slot, given in bind(spec, node.operands).items():
            several = given if isinstance(given, tuple) else (given,)
            fill[slot] = ", ".join("None" if one is None else scope.names[one] for one in several)
        return fill | {name: self._literal(name, value) for name, value in node.attrs}

    def _literal(self, name: str, value: Attr) -> str:
        if isinstance(value, str) and (name == "dtype" or name.endswith("_dtype")):
            return self._dtype(value)
        return _python(value)

    def _dtype(self, dtype: str) -> str:
        if self.override and dtype in FLOATS:
            dtype = self.override
        if self.override == "float64" and dtype in COMPLEX:
            dtype = "complex128"
        if self.framework == "torch":
            return f"torch.{dtype}"
        return "ms.bool_" if dtype == "bool" else f"ms.{dtype}"

    # ---- loops
    def _loop(self, node: Node, scope: _Scope) -> Iterator[_Text]:
        """Assign the carried values, then a Python loop whose body assigns them anew."""
        body = node.regions[-1]
        carried = [self.names.fresh(one.name) for one in body.parameters]
        targets = ", ".join(carried)
        yield _Text(f"{targets} = {', '.join(scope.names[name] for name in node.operands if name)}")
        inner = self._body_scope(body, carried, scope)
        step = [*self._nodes(body.nodes, inner), _Text(f"{targets} = {_results(body, inner)}")]
        if node.op == "for":
            yield _Text(f"for {self.names.fresh('turn')} in range({node.attr('trips')}):")
            yield from _indented(step)
        else:
            yield from self._while(node, step, carried, scope)
        result = f"({targets})" if len(carried) > 1 else targets
        yield _Text(f"{scope.names[node.name]} = {result}")

    def _while(
        self, node: Node, step: list[_Text], carried: list[str], scope: _Scope
    ) -> Iterator[_Text]:
        """Count the turns and, where there is a body for it, test a condition before each."""
        count = self.names.fresh("turns")
        test: list[_Text] = []
        for condition in node.regions[:-1]:
            inner = self._body_scope(condition, carried, scope)
            test += self._nodes(condition.nodes, inner)
            if node.form(self.framework) == "builtin_and":
                yield from (_Text(f"{count} = 0"), *test)
                yield _Text(f"while {_results(condition, inner)} and {count} < {node.bound}:")
                yield from _indented([*step, _Text(f"{count} = {count} + 1"), *test])
                return
            test += [_Text(f"if not {_results(condition, inner)}:"), _Text("    break")]
        yield _Text(f"{count} = 0")
        yield _Text(f"while {count} < {node.bound}:")
        yield from _indented([*test, *step, _Text(f"{count} = {count} + 1")])

    def _body_scope(self, region: Region, carried: list[str], scope: _Scope) -> _Scope:
        names = {one.name: name for one, name in zip(region.parameters, carried, strict=True)}
        names |= {inner: scope.names[outer] for inner, outer in region.captures}
        names |= {one.name: self.names.fresh(one.name) for one in region.nodes}
        types = {inner: scope.types[outer] for inner, outer in region.captures}
        types |= {one.name: one.type for one in region.parameters}
        types |= {one.name: one.type for one in region.nodes}
        inputs = {
            inner: scope.inputs[outer] for inner, outer in region.captures if outer in scope.inputs
        }
        return _Scope(names, types, inputs)


def _results(region: Region, scope: _Scope) -> str:
    return ", ".join(scope.names[name] for name in region.results)


def _limits(spec: OpSpec, limit: Limit, form: str, call: OpCall) -> bool:
    mixed = [call.types[one.name] for one in spec.operands if one.kind == "mixed"]
    dtypes = {one.dtype for one in (call.first, *mixed) if isinstance(one, Dense)}
    dtype_matches = not limit.dtypes or not dtypes.isdisjoint(limit.dtypes)
    return limit.form in ("", form) and dtype_matches


def _set_up_with(spec: OpSpec, node: Node, form: Form) -> Iterator[str]:
    """Values that the form's statements outside the compiled function read."""
    for slot, given in bind(spec, node.operands).items():
        if slot in form.setup_placeholders and given is not None:
            yield from given if isinstance(given, tuple) else (given,)


# --------------------------------------------------------------------------------------- text
def _indented(lines: Iterable[_Text]) -> Iterator[_Text]:
    return (_Text(f"    {line.text}", line.node) for line in lines)


def _statement(template: str, fill: Mapping[str, str], node: Node) -> Iterator[_Text]:
    return (_Text(line, node.name) for line in template.format_map(fill).splitlines())


# No value is called as a module is, so a name before a dot or a bracket is the module.
_MODULE = re.compile(rf"(?<![\w.])({'|'.join({*MODULES['torch'], *MODULES['mindspore']})})(?=[.(])")


def _assembled(blocks: Iterable[list[_Text]], framework: str) -> list[_Text]:
    """Imports of what the blocks use, then the blocks that are not empty, two lines apart."""
    present = [block for block in blocks if block]
    used = {name for block in present for line in block for name in _MODULE.findall(line.text)}
    imports = _imports(used, framework)
    lines: list[_Text] = []
    for at, block in enumerate([imports, *present] if imports else present):
        lines += [_Text("")] * (2 if at else 0) + block
    return lines


def _imports(used: AbstractSet[str], framework: str) -> list[_Text]:
    """The statements in the order of the table; names of one module share a line."""
    lines: list[str] = []
    for name, statement in MODULES[framework].items():
        if name in used:
            head, _, imported = statement.partition(" import ")
            if lines and lines[-1].startswith(f"{head} import ") and head.startswith("from"):
                lines[-1] += f", {imported}"
            else:
                lines.append(statement)
    return [_Text(line) for line in lines]


def _python(value: Attr) -> str:
    """A Python literal; special floats are spelt so that no import is needed."""
    match value:
        case float() if not math.isfinite(value):
            return f'float("{value}")'
        case str() if value.isprintable() and not {'"', "\\"} & set(value):
            return f'"{value}"'
        case tuple() if len(value) == 1:
            return f"({_python(value[0])},)"
        case tuple():
            return f"({', '.join(map(_python, value))})"
        case _:
            return repr(value)


def _binds_tightly(expression: str) -> bool:
    """Whether `.field` or `[0]` may follow the expression without parentheses round it."""
    tree = ast.parse(expression, mode="eval").body
    return isinstance(tree, ast.Call | ast.Name | ast.Attribute | ast.Subscript)

"""From a case to the source file that runs and that a report shows: straight line, a node a line.

The layout of the file is in docs/architecture.md. What a node's line says is a form of its
operator's row; nothing here knows an operator. Nodes with bodies are statements: `control` writes
them.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace

from engine.errors import EngineError
from engine.executors.apis import MODULES, public_api
from engine.executors.control import ControlWriter
from engine.executors.source import Names, Scope, Text, indented
from engine.ir.case import Case
from engine.ir.graph import Attr, Graph, Node, names_dtype
from engine.ir.types import COMPLEX, FLOATS, Dense, Type, is_float
from engine.ops.spec import FRAMEWORKS, Form, OpCall, OpSpec
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
    dtypes = _limiting_dtypes(spec, call)
    return any(
        not spec.limits_of(framework, name, dtypes) for name in spec.forms_for(framework, call)
    )


# ------------------------------------------------------------------------------------- writer
@dataclass
class _Writer:
    case: Case
    framework: str
    override: str | None
    names: Names = field(default_factory=Names)
    module: list[Text] = field(default_factory=list)
    setup: list[Text] = field(default_factory=list)
    objects: list[str] = field(default_factory=list)
    setup_objects: list[str] = field(default_factory=list)
    setup_inputs: set[str] = field(default_factory=set)
    inputs: dict[str, str] = field(default_factory=dict)
    forms: dict[str, str] = field(default_factory=dict)
    apis: dict[str, None] = field(default_factory=dict)

    @property
    def graph(self) -> Graph:
        return self.case.graph

    def write(self) -> Lowered:
        inputs = {given.name: given.name for given in self.graph.inputs}
        names = {name: self.names.fresh(name) for name in self.graph.types}
        self.inputs = {name: names[name] for name in inputs}
        scope = Scope(names, self.graph.types, inputs)
        body = list(self.nodes(self.graph.nodes, scope))
        results = ", ".join(names[name] for name in self.graph.outputs)
        forward = [
            Text(f"def forward({', '.join(names[name] for name in inputs)}):"),
            *indented([*body, Text(f"return {results}")]),
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

    def _setup(self, names: Mapping[str, str]) -> list[Text]:
        if not self.setup:
            return []
        given = [names[one.name] for one in self.graph.inputs if one.name in self.setup_inputs]
        share = Text(f"global {', '.join(self.setup_objects)}")
        return [Text(f"def setup({', '.join(given)}):"), *indented([share, *self.setup])]

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

    def _loss(self, names: Mapping[str, str], cotangents: tuple[Cotangent, ...]) -> list[Text]:
        if not cotangents:
            return []
        inputs = [names[given.name] for given in self.graph.inputs]
        outputs = [names[name] for name in self.graph.outputs]
        if len(set(outputs)) < len(outputs):
            outputs = [self.names.fresh(f"{name}_{at}") for at, name in enumerate(outputs)]
        terms = [self._term(outputs[one.output], one) for one in cotangents]
        return [
            Text(f"def loss({', '.join([*inputs, *(one.name for one in cotangents)])}):"),
            Text(f"    {', '.join(outputs)} = forward({', '.join(inputs)})"),
            Text(f"    return {' + '.join(terms)}"),
        ]

    def _term(self, output: str, cotangent: Cotangent) -> str:
        of = self.graph.types[self.graph.outputs[cotangent.output]]
        if self.override is None and isinstance(of, Dense) and of.dtype != cotangent.dtype:
            change = "to" if self.framework == "torch" else "astype"
            output = f"{output}.{change}({self._dtype(cotangent.dtype)})"
        return f"({output} * {cotangent.name}).sum()"

    # ---- nodes
    def nodes(self, nodes: Iterable[Node], scope: Scope) -> Iterator[Text]:
        for node in nodes:
            if node.op == ITEM:
                whole = scope.names[node.uses[0]]
                yield Text(f"{scope.names[node.name]} = {whole}[{node.attr('index')}]", node.name)
            elif node.regions:
                form = node.form(self.framework)
                known = spec_of(node).forms[self.framework]
                self.forms[node.name] = form if form in known else next(iter(known))
                lines = ControlWriter(node, scope, self.forms[node.name], self).write()
                yield from (Text(line.text, node.name) for line in lines)
            else:
                yield from self._call(node, scope)

    def _call(self, node: Node, scope: Scope) -> Iterator[Text]:
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
            yield Text(f"{target} = {text}", node.name)
        elif form.result.count("{out}") == 1 and _binds_tightly(text):
            yield Text(f"{target} = {form.result.format_map({**fill, 'out': text})}", node.name)
        else:
            yield Text(f"{target} = {text}", node.name)
            result = form.result.format_map({**fill, "out": target})
            yield Text(f"{target} = {result}", node.name)

    def _form(self, spec: OpSpec, node: Node, scope: Scope) -> tuple[str, Form]:
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
        for limit in spec.limits_of(self.framework, name, _limiting_dtypes(spec, call)):
            raise Unsupported(f"{node.name}: {spec.name} as {name}: {limit.reason}")
        return name, form

    def _can_set_up(self, spec: OpSpec, node: Node, form: Form, scope: Scope) -> bool:
        """Whether what the form builds beforehand is known then: inputs that no call replaces."""
        if not form.setup:
            return True
        replaced = {given.name for call in self.case.plan.calls for given in call.inputs}
        needed = _set_up_with(spec, node, form)
        return all(name in scope.inputs and scope.inputs[name] not in replaced for name in needed)

    def _build(self, spec: OpSpec, node: Node, form: Form, scope: Scope) -> str:
        """Write the statements that build the node's object; answer the object's name."""
        name = self.names.fresh(f"{node.op}_{node.name}")
        self.objects.append(name)
        needed = {scope.inputs[value] for value in _set_up_with(spec, node, form)}
        statements = form.setup
        if needed:
            if self.setup_objects and self.framework == "mindspore":
                statements = (*statements, _NAMED_APART)
            self.setup_objects.append(name)
            self.setup_inputs |= needed
        # What is built ahead of a loop is given the input itself, not what the body calls it.
        outside = {
            **scope.names,
            **{inner: self.inputs[one] for inner, one in scope.inputs.items()},
        }
        fill = {**self._fill(spec, node, replace(scope, names=outside)), "self": name}
        for statement in statements:
            (self.setup if needed else self.module).extend(_statement(statement, fill, node))
        return name

    def _fill(self, spec: OpSpec, node: Node, scope: Scope) -> dict[str, str]:
        """What each placeholder of a form stands for in this node."""
        fill: dict[str, str] = {}
        for slot, given in bind(spec, node.operands).items():
            several = given if isinstance(given, tuple) else (given,)
            fill[slot] = ", ".join("None" if one is None else scope.names[one] for one in several)
        return fill | {name: self._literal(name, value) for name, value in node.attrs}

    def _literal(self, name: str, value: Attr) -> str:
        if names_dtype(value, name):
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


def _limiting_dtypes(spec: OpSpec, call: OpCall) -> set[str]:
    """Of the first operand, and of those that may have another."""
    mixed = [call.types[one.name] for one in spec.operands if one.kind == "mixed"]
    return {one.dtype for one in (call.first, *mixed) if isinstance(one, Dense)}


def _set_up_with(spec: OpSpec, node: Node, form: Form) -> Iterator[str]:
    """Values that the form's statements outside the compiled function read."""
    for slot, given in bind(spec, node.operands).items():
        if slot in form.setup_placeholders and given is not None:
            yield from given if isinstance(given, tuple) else (given,)


# --------------------------------------------------------------------------------------- text
# Cells that no other cell owns all call their weights alike, and a graph takes each name once.
_NAMED_APART = '{self}.update_parameters_name("{self}.")'


def _statement(template: str, fill: Mapping[str, str], node: Node) -> Iterator[Text]:
    return (Text(line, node.name) for line in template.format_map(fill).splitlines())


# No value is called as a module is, so a name before a dot or a bracket is the module.
_MODULE = re.compile(rf"(?<![\w.])({'|'.join({*MODULES['torch'], *MODULES['mindspore']})})(?=[.(])")


def _assembled(blocks: Iterable[list[Text]], framework: str) -> list[Text]:
    """Imports of what the blocks use, then the blocks that are not empty, two lines apart."""
    present = [block for block in blocks if block]
    used = {name for block in present for line in block for name in _MODULE.findall(line.text)}
    imports = _imports(used, framework)
    lines: list[Text] = []
    for at, block in enumerate([imports, *present] if imports else present):
        lines += [Text("")] * (2 if at else 0) + block
    return lines


def _imports(used: AbstractSet[str], framework: str) -> list[Text]:
    """The statements in the order of the table; names of one module share a line."""
    lines: list[str] = []
    for name, statement in MODULES[framework].items():
        if name in used:
            head, _, imported = statement.partition(" import ")
            if lines and lines[-1].startswith(f"{head} import ") and head.startswith("from"):
                lines[-1] += f", {imported}"
            else:
                lines.append(statement)
    return [Text(line) for line in lines]


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

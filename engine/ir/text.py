"""The text form of graphs and cases: what people read, write in tests and diff.

The grammar is in docs/architecture.md. Indentation is for people: a body ends at its `yield`, a
graph at its `return`. Printing and parsing are an exact round trip, floats included.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from engine.errors import BadInput
from engine.ir.case import CHECKS, GRADIENTS, Call, Case, Plan
from engine.ir.graph import (
    Attr,
    Formula,
    Graph,
    Init,
    Input,
    Literal,
    Node,
    Random,
    Region,
    StoredBlob,
)
from engine.ir.types import DTYPES, Csr, Dense, Dynamic, Extent, Scalar, Tuple, Type

__all__ = [
    "RESERVED",
    "VERSION",
    "parse_case",
    "parse_graph",
    "parse_input",
    "parse_nodes",
    "parse_type",
    "print_attr",
    "print_case",
    "print_graph",
    "print_input",
    "print_node",
    "print_type",
]

VERSION = 1
ROLES = ("input", "weight", "constant")
CLAIMS = ("preserving", "changing", "invalidating")
RESERVED = frozenset({"none", "true", "false", "nan", "inf"})
"""Words that are values, so no graph value may be called so."""

_WORDS: dict[str, Attr] = {
    "none": None,
    "true": True,
    "false": False,
    "nan": math.nan,
    "inf": math.inf,
}


# ------------------------------------------------------------------------------------ printer
def print_case(case: Case) -> str:
    """The case as one text file."""
    claim = [f"claim {case.claim}"] if case.claim else []
    return "\n".join([f"case {VERSION}", *claim, "", print_graph(case.graph) + _plan(case.plan)])


def print_graph(graph: Graph) -> str:
    lines = [f"graph {graph.name}"]
    lines += [f"  {given.role} {print_input(given)}" for given in graph.inputs]
    for node in graph.nodes:
        lines += (f"  {line}" for line in _node_lines(node))
    lines.append(f"  return {', '.join(graph.outputs)}".rstrip())
    return "\n".join(lines) + "\n"


def print_input(given: Input) -> str:
    """`x: float32[2] = normal(seed=0) layout=strided alias=g1 requires_grad`, without its role."""
    words = [f"{given.name}: {print_type(given.type)} = {_init(given.init)}"]
    if given.layout != "contiguous":
        words.append(f"layout={given.layout}")
    if given.alias:
        words.append(f"alias={given.alias}")
    if given.requires_grad:
        words.append("requires_grad")
    return " ".join(words)


def print_node(node: Node) -> str:
    """The node's statement; its bodies, if it has any, on the following lines."""
    return "\n".join(_node_lines(node))


def print_type(of: Type) -> str:
    match of:
        case Dense(dtype, shape, strides):
            text = f"{dtype}[{','.join(map(_extent, shape))}]"
            return text if strides is None else f"{text}{{{','.join(map(str, strides))}}}"
        case Csr(dtype, shape, nnz, index_dtype):
            return f"csr {dtype}[{shape[0]},{shape[1]}] nnz {nnz} {index_dtype}"
        case Scalar(kind):
            return f"scalar {kind}"
        case Tuple(items):
            return _parenthesised([print_type(item) for item in items])


def print_attr(value: Attr | complex) -> str:
    """A Python literal in the words of the text form."""
    match value:
        case None:
            return "none"
        case bool():
            return "true" if value else "false"
        case str():
            return json.dumps(value)
        case tuple():
            return _parenthesised([print_attr(item) for item in value])
        case complex():
            return f"complex({value.real!r}, {value.imag!r})"
        case _:
            return repr(value)


def _parenthesised(items: list[str]) -> str:
    return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"


def _extent(extent: Extent) -> str:
    return f"<={extent.bound}" if isinstance(extent, Dynamic) else str(extent)


def _init(init: Init) -> str:
    match init:
        case Random(kind, seed, parameters):
            return f"{kind}({_pairs((('seed', seed), *parameters))})"
        case Formula(name, parameters):
            return f"formula {name}({_pairs(parameters)})"
        case Literal(values):
            return f"[{', '.join(print_attr(value) for value in values)}]"
        case StoredBlob(digest):
            return f"blob {digest}"


def _pairs(pairs: Iterable[tuple[str, Attr]]) -> str:
    return ", ".join(f"{name}={print_attr(value)}" for name, value in pairs)


def _node_lines(node: Node) -> Iterator[str]:
    operands = ", ".join("none" if name is None else name for name in node.operands)
    attrs = f"; {_pairs(node.attrs)}" if node.attrs else ""
    words = [f"{node.name}: {print_type(node.type)} = {node.op}({operands}{attrs})"]
    if node.forms:
        words += ["as", *(f"{framework}:{form}" for framework, form in node.forms)]
    for word, value in (("writes", node.writes), ("views", node.views), ("bound", node.bound)):
        if value is not None:
            words.append(f"{word} {value}")
    yield " ".join(words)
    for region in node.regions:
        yield from (f"  {line}" for line in _region_lines(region))


def _region_lines(region: Region) -> Iterator[str]:
    parameters = ", ".join(f"{one.name}: {print_type(one.type)}" for one in region.parameters)
    captures = ", ".join(f"{inner} = {outer}" for inner, outer in region.captures)
    yield f"body ({parameters})" + (f" captures ({captures})" if captures else "")
    for node in region.nodes:
        yield from (f"  {line}" for line in _node_lines(node))
    yield f"  yield {', '.join(region.results)}".rstrip()


def _plan(plan: Plan) -> str:
    if plan == Plan():
        return ""
    lines = ["", "plan"]
    for call in plan.calls:
        given = ", ".join(_call_input(one) for one in call.inputs)
        lines.append(f"  call {given}".rstrip())
    lines.append(f"  gradient {plan.gradient}")
    if plan.loss_outputs:
        lines.append(f"  loss {' '.join(map(str, plan.loss_outputs))}")
    lines.append(f"  check {' '.join(plan.checks)}".rstrip())
    return "\n".join(lines) + "\n"


def _call_input(given: Input) -> str:
    return print_input(given) if given.role == "input" else f"{given.role} {print_input(given)}"


# ---------------------------------------------------------------------------------- tokenizer
_TOKEN = re.compile(
    r"""(?P<space>[ \t]+|\#.*)
    | (?P<digest>[0-9a-f]{64}(?![0-9A-Za-z_]))
    | (?P<number>-?(?:\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|inf\b|nan\b))
    | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<string>"(?:[^"\\]|\\.)*")
    | (?P<mark><=|[\[\](){}:;,=])""",
    re.VERBOSE,
)


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str

    @property
    def is_word(self) -> bool:
        """Whether this may be a name; a digest that starts with a letter may."""
        return self.kind in ("name", "digest") and self.text.isidentifier()


_END = _Token("end", "")


@dataclass
class _Line:
    """The tokens of one line, read from left to right."""

    number: int
    tokens: list[_Token]
    at: int = 0

    @property
    def next(self) -> _Token:
        return self.tokens[self.at]

    @property
    def after(self) -> _Token:
        return self.tokens[min(self.at + 1, len(self.tokens) - 1)]

    def error(self, expected: str) -> BadInput:
        seen = f'"{self.next.text}"' if self.next.kind != "end" else "the end of the line"
        return BadInput(f"line {self.number}", seen=seen, expected=expected)

    def take(self, kind: str, expected: str) -> str:
        token = self.next
        if token.kind != kind and not (kind == "name" and token.is_word):
            raise self.error(expected)
        self.at += 1
        return token.text

    def skip(self, text: str) -> bool:
        """Take this mark or word if it is next."""
        if self.next.text != text or self.next.kind not in ("mark", "name"):
            return False
        self.at += 1
        return True

    def mark(self, text: str) -> None:
        if not self.skip(text):
            raise self.error(f'"{text}"')

    def name(self, what: str = "a name") -> str:
        return self.take("name", what)

    def value_name(self) -> str:
        if self.next.text in RESERVED:
            raise self.error("the name of a value")
        return self.name("the name of a value")

    def whole(self, what: str) -> int:
        text = self.next.text
        if not re.fullmatch(r"-?\d+", text):
            raise self.error(what)
        self.at += 1
        return int(text)

    def listed(self, close: str, item: Callable[[], object]) -> None:
        """Items separated by commas up to the closing mark, a last comma allowed."""
        while not self.skip(close):
            item()
            if not self.skip(","):
                self.mark(close)
                return

    def end(self) -> None:
        if self.next.kind != "end":
            raise self.error("the end of the line")


def _tokenise(number: int, line: str) -> list[_Token]:
    """The tokens of a line, and one of kind "end" behind them."""
    tokens = []
    at = 0
    while found := _TOKEN.match(line, at):
        kind = found.lastgroup or ""
        if kind != "space":
            tokens.append(_Token(kind, found.group()))
        at = found.end()
    if at < len(line):
        raise BadInput(
            f"line {number}, column {at + 1}", seen=line[at : at + 20], expected="a token"
        )
    return [*tokens, _END]


# ------------------------------------------------------------------------------------- parser
Complete = Callable[[Node], Node]
"""Gives a node that was written without a type its type."""

Item = TypeVar("Item")
_UNTYPED = Tuple(())


@dataclass
class _Parser:
    lines: list[_Line]
    complete: Complete | None = None
    at: int = 0
    last: int = field(default=0)

    @classmethod
    def of(cls, text: str, complete: Complete | None = None) -> _Parser:
        texts = text.split("\n")
        lines = [_Line(number, _tokenise(number, one)) for number, one in enumerate(texts, 1)]
        return cls([line for line in lines if line.next is not _END], complete, last=len(texts))

    @property
    def line(self) -> _Line | None:
        return self.lines[self.at] if self.at < len(self.lines) else None

    def need(self, expected: str) -> _Line:
        line = self.line
        if line is None:
            raise BadInput(f"line {self.last}", seen="the end of the text", expected=expected)
        return line

    def done(self, line: _Line) -> None:
        line.end()
        self.at += 1

    def finish(self) -> None:
        if self.line is not None:
            raise self.line.error("the end of the text")

    # ---- sections
    def case(self) -> Case:
        line = self.need(f'"case {VERSION}"')
        if not line.skip("case"):
            raise line.error(f'"case {VERSION}"')
        if line.whole("the version of the format") != VERSION:
            line.at -= 1
            raise line.error(f"version {VERSION} of the format")
        self.done(line)
        claim = ""
        line = self.need('"graph"')
        if line.skip("claim"):
            claim = _one_of(line, CLAIMS, "a claim")
            self.done(line)
        return Case(self.graph(), self.plan(), claim)

    def graph(self) -> Graph:
        line = self.need('"graph"')
        if not line.skip("graph"):
            raise line.error('"graph"')
        name = line.name("the name of the graph")
        self.done(line)
        inputs = []
        while (line := self.need('an input, a node or "return"')).next.text in ROLES:
            if not line.after.is_word:
                break
            inputs.append(_input(line))
            self.done(line)
        nodes = self.nodes("return")
        return Graph(name, tuple(inputs), nodes, self.results())

    def results(self) -> tuple[str, ...]:
        """The names after `return` or `yield`, which `nodes` has taken."""
        line = self.need("values")
        names: list[str] = []
        while line.next.kind != "end":
            names.append(line.value_name())
            if line.next.kind != "end":
                line.mark(",")
        self.done(line)
        return tuple(names)

    def nodes(self, stop: str) -> tuple[Node, ...]:
        """Nodes up to the word `stop`, or to the end of the text where it is empty."""
        found = []
        while stop or self.line is not None:
            line = self.need(f'a node or "{stop}"')
            if stop and line.next.text == stop and line.after.text not in (":", "="):
                line.at += 1
                break
            found.append(self.node(line))
        return tuple(found)

    def node(self, line: _Line) -> Node:
        name = line.value_name()
        written: Type = _UNTYPED
        typed = line.next.text == ":" or self.complete is None
        if typed:
            line.mark(":")
            written = _type(line)
        line.mark("=")
        op = line.name("an operator")
        operands, attrs = _arguments(line)
        forms = _node_forms(line)
        writes = line.value_name() if line.skip("writes") else None
        views = line.value_name() if line.skip("views") else None
        bound = line.whole("the most iterations") if line.skip("bound") else None
        self.done(line)
        node = Node(name, op, operands, written, attrs, forms, writes, views, self.regions(), bound)
        if typed or self.complete is None:
            return node
        return self.complete(node)

    def regions(self) -> tuple[Region, ...]:
        found = []
        while (line := self.line) and line.next.text == "body" and line.after.text == "(":
            line.at += 1
            found.append(self.region(line))
        return tuple(found)

    def region(self, line: _Line) -> Region:
        parameters: list[Input] = []
        captures: list[tuple[str, str]] = []

        def parameter() -> None:
            name = line.value_name()
            line.mark(":")
            parameters.append(Input(name, _type(line)))

        def capture() -> None:
            inner = line.value_name()
            line.mark("=")
            captures.append((inner, line.value_name()))

        line.mark("(")
        line.listed(")", parameter)
        if line.skip("captures"):
            line.mark("(")
            line.listed(")", capture)
        self.done(line)
        nodes = self.nodes("yield")
        return Region(tuple(parameters), tuple(captures), nodes, self.results())

    def plan(self) -> Plan:
        line = self.line
        if line is None:
            return Plan()
        if not line.skip("plan"):
            raise line.error('"plan" or the end of the text')
        self.done(line)
        calls: list[Call] = []
        plan = Plan()
        gradient, checks, loss = plan.gradient, plan.checks, plan.loss_outputs
        while line := self.line:
            match line.name('"call", "gradient", "loss" or "check"'):
                case "call":
                    calls.append(_call(line))
                case "gradient":
                    gradient = _one_of(line, GRADIENTS, "a kind of gradient")
                case "loss":
                    loss = tuple(_until_end(line, lambda: line.whole("position of an output")))
                case "check":
                    checks = tuple(_until_end(line, lambda: _one_of(line, CHECKS, "a check")))
                case _:
                    line.at -= 1
                    raise line.error('"call", "gradient", "loss" or "check"')
            self.done(line)
        return Plan(tuple(calls) or plan.calls, gradient, checks, loss)


def _until_end(line: _Line, item: Callable[[], Item]) -> Iterator[Item]:
    while line.next.kind != "end":
        yield item()


def _one_of(line: _Line, words: tuple[str, ...], what: str) -> str:
    if line.next.text not in words:
        raise line.error(f"{what} ({', '.join(words)})")
    return line.name()


def _call(line: _Line) -> Call:
    given: list[Input] = []
    while line.next.kind != "end":
        given.append(_input(line))
        if line.next.kind != "end":
            line.mark(",")
    return Call(tuple(given))


def _input(line: _Line) -> Input:
    role = line.name() if line.next.text in ROLES and line.after.is_word else "input"
    name = line.value_name()
    line.mark(":")
    given = Input(name, _type(line), role)
    init = _parse_init(line) if line.skip("=") else given.init
    layout, alias, requires_grad = given.layout, given.alias, False
    while line.next.is_word:
        match line.name():
            case "layout":
                line.mark("=")
                layout = line.name("a layout")
            case "alias":
                line.mark("=")
                alias = line.name("an alias group")
            case "requires_grad":
                requires_grad = True
            case _:
                line.at -= 1
                raise line.error('"layout", "alias" or "requires_grad"')
    return Input(name, given.type, role, init, layout, alias, requires_grad)


def _parse_init(line: _Line) -> Init:
    if line.skip("["):
        values: list[float | int | bool | complex] = []
        line.listed("]", lambda: values.append(_number(line)))
        return Literal(tuple(values))
    if line.next.text == "blob" and line.after.text != "(":
        line.at += 1
        return StoredBlob(line.take("digest", "a digest of 64 hexadecimal digits"))
    if line.next.text == "formula" and line.after.text != "(":
        line.at += 1
        name = line.name("a formula")
        line.mark("(")
        return Formula(name, _parse_pairs(line, ")"))
    kind = line.name("an initialiser")
    line.mark("(")
    pairs = dict(_parse_pairs(line, ")"))
    seed = pairs.pop("seed", None)
    if not isinstance(seed, int) or isinstance(seed, bool):
        raise line.error(f"{kind} with a whole number as its seed")
    numbers = tuple((name, one) for name, one in pairs.items() if isinstance(one, int | float))
    if len(numbers) != len(pairs):
        raise line.error(f"{kind} with numbers as its parameters")
    return Random(kind, seed, numbers)


def _number(line: _Line) -> float | int | bool | complex:
    if line.skip("complex"):
        parts: list[Attr] = []
        line.mark("(")
        line.listed(")", lambda: parts.append(_attr(line)))
        match parts:
            case [int() | float() as real, int() | float() as imag]:
                return complex(real, imag)
        raise line.error("complex(real, imaginary)")
    value = _attr(line)
    if not isinstance(value, int | float):
        line.at -= 1
        raise line.error("a number")
    return value


def _parse_pairs(line: _Line, close: str) -> tuple[tuple[str, Attr], ...]:
    pairs: dict[str, Attr] = {}

    def pair() -> None:
        # An attribute may be called as a value is (`nan` of nan_to_num): the "=" tells them apart.
        word = line.next.text
        if word in RESERVED:
            line.at += 1
        name = word if word in RESERVED else line.name("the name of an attribute")
        if name in pairs:
            line.at -= 1
            raise line.error("each attribute once")
        line.mark("=")
        pairs[name] = _attr(line)

    line.listed(close, pair)
    return tuple(pairs.items())


def _attr(line: _Line) -> Attr:
    token = line.next
    if line.skip("("):
        items: list[Attr] = []
        line.listed(")", lambda: items.append(_attr(line)))
        return tuple(items)
    line.at += 1
    if token.text in _WORDS and token.kind in ("name", "number"):
        return _WORDS[token.text]
    if token.kind == "string":
        return _string(line, token.text)
    if token.kind in ("number", "digest") and not token.text.isidentifier():
        try:
            return int(token.text) if re.fullmatch(r"-?\d+", token.text) else float(token.text)
        except ValueError:
            pass
    line.at -= 1
    raise line.error("a number, a string, a tuple, true, false or none")


def _string(line: _Line, text: str) -> str:
    try:
        return str(json.loads(text))
    except ValueError as fault:
        line.at -= 1
        raise line.error("a string with the escapes of JSON") from fault


def _arguments(line: _Line) -> tuple[tuple[str | None, ...], tuple[tuple[str, Attr], ...]]:
    """`(x, none; stride=1)`."""
    operands: list[str | None] = []
    line.mark("(")
    while line.next.text not in (")", ";"):
        operands.append(None if line.skip("none") else line.value_name())
        if line.next.text not in (")", ";"):
            line.mark(",")
    if line.skip(";"):
        return tuple(operands), _parse_pairs(line, ")")
    line.mark(")")
    return tuple(operands), ()


def _node_forms(line: _Line) -> tuple[tuple[str, str], ...]:
    if not line.skip("as"):
        return ()
    forms: list[tuple[str, str]] = []
    while not forms or (line.next.is_word and line.after.text == ":"):
        framework = line.name("a framework")
        line.mark(":")
        forms.append((framework, line.name("a form")))
    return tuple(forms)


def _type(line: _Line) -> Type:
    if line.skip("("):
        items: list[Type] = []
        line.listed(")", lambda: items.append(_type(line)))
        return Tuple(tuple(items))
    if line.skip("scalar"):
        return Scalar(_one_of(line, ("int", "float", "bool"), "a kind of scalar"))
    sparse = line.skip("csr")
    dtype = _one_of(line, DTYPES, "a type")
    shape: list[Extent] = []
    line.mark("[")
    line.listed("]", lambda: shape.append(_parse_extent(line)))
    if sparse:
        return _csr(line, dtype, shape)
    if not line.skip("{"):
        return Dense(dtype, tuple(shape))
    strides: list[int] = []
    line.listed("}", lambda: strides.append(line.whole("a stride")))
    return Dense(dtype, tuple(shape), tuple(strides))


def _csr(line: _Line, dtype: str, shape: list[Extent]) -> Csr:
    match shape:
        case [int() as rows, int() as columns]:
            if not line.skip("nnz"):
                raise line.error('"nnz"')
            nnz = line.whole("the number of stored values")
            return Csr(dtype, (rows, columns), nnz, _one_of(line, DTYPES, "a dtype of indices"))
    raise line.error("a shape of two static extents before this")


def _parse_extent(line: _Line) -> Extent:
    if line.skip("<="):
        return Dynamic(line.whole("the greatest extent"))
    return line.whole("an extent")


def parse_case(text: str) -> Case:
    """The case of a text; `BadInput` with line, seen and expected."""
    parser = _Parser.of(text)
    case = parser.case()
    parser.finish()
    return case


def parse_graph(text: str) -> Graph:
    """The graph of a text that starts with `graph`; `BadInput` as above."""
    parser = _Parser.of(text)
    graph = parser.graph()
    parser.finish()
    return graph


def parse_nodes(text: str, complete: Complete) -> tuple[Node, ...]:
    """The bare statements of a body, whose types may be left out.

    `complete` gets each node in order and answers it with its type (and what else was left out).
    """
    return _Parser.of(text, complete).nodes("")


def parse_input(text: str) -> Input:
    """One input as on its line of a graph; without a role it is an "input"."""
    line = _Line(1, _tokenise(1, text))
    given = _input(line)
    line.end()
    return given


def parse_type(text: str) -> Type:
    line = _Line(1, _tokenise(1, text))
    found = _type(line)
    line.end()
    return found

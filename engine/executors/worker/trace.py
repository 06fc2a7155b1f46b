"""What ran inside PyTorch: dispatched operators, captured graphs, counters of the compilers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Callable

import torch
from torch._dynamo.backends.debugging import aot_eager, boxed_nop
from torch.utils._python_dispatch import TorchDispatchMode

__all__ = ["Counted", "Dispatched", "arm_inductor"]

_SEEN: Counter[tuple[str, str]] = (
    Counter()
)  # targets of the graphs that inductor was given last; see `arm_inductor`
# Settings of inductor as it had them while it compiled those graphs, and their symbolic extents.
_SETTINGS: dict[str, Any] = {}
_SYMBOLS: set[str] = set()
_WATCHED = ("emulate_precision_casts", "fallback_random")


class Dispatched(TorchDispatchMode):  # type: ignore[misc]
    """Counts the operators asked of the dispatcher, with the dtype of their first tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: Counter[tuple[str, str]] = Counter()
        self._counts = True

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Not counting, for looking at values in between."""
        self._counts = False
        try:
            yield
        finally:
            self._counts = True

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if self._counts:
            first = next((one for one in args if torch.is_tensor(one)), None)
            self.seen[f"{func}", "" if first is None else str(first.dtype)[6:]] += 1
        return func(*args, **(kwargs or {}))

    def labels(self) -> list[str]:
        return sorted(f"{name}:{dtype}" for name, dtype in self.seen)


def arm_inductor() -> None:
    """Have inductor show us each graph after its own passes; the graph is left as it is."""
    from torch._inductor import config
    from torch._inductor.custom_graph_pass import CustomGraphPass

    class Look(CustomGraphPass):  # type: ignore[misc]
        def __call__(self, graph: Any) -> None:
            _count(graph, _SEEN)
            _SETTINGS.update({name: getattr(config, name, None) for name in _WATCHED})

        def uuid(self) -> str:
            return "flowmut looks and changes nothing"

    config.post_grad_custom_post_pass = Look()


def _count(graph: Any, into: Counter[tuple[str, str]]) -> None:
    for node in graph.nodes:
        value = node.meta.get("val")
        if node.op == "placeholder":
            extents = value.shape if torch.is_tensor(value) else [value]
            _SYMBOLS.update(str(one) for one in extents if isinstance(one, torch.SymInt))
        if node.op == "call_function":
            dtype = str(value.dtype)[6:] if torch.is_tensor(value) else ""
            into[str(node.target), dtype] += 1


class Counted:
    """Counters of the compilers over a stretch of a program."""

    def __init__(self) -> None:
        self.targets: Counter[tuple[str, str]] = Counter()
        self.proof: dict[str, Any] = {}

    def __enter__(self) -> Counted:
        from torch._inductor import metrics

        torch._dynamo.utils.counters.clear()
        metrics.reset()
        _SEEN.clear()
        _SETTINGS.clear()
        _SYMBOLS.clear()
        return self

    def __exit__(self, *_: object) -> None:
        from torch._inductor import metrics

        counters = torch._dynamo.utils.counters
        self.targets.update(_SEEN)
        self.proof = {
            "graph_breaks": int(sum(counters["graph_break"].values())),
            "unique_graphs": int(counters["stats"]["unique_graphs"]),
            "calls_captured": int(counters["stats"]["calls_captured"]),
            "kernels": int(metrics.generated_kernel_count),
            "vectorised_kernels": int(metrics.generated_cpp_vec_kernel_count),
            "nodes_before_fusion": int(metrics.ir_nodes_pre_fusion),
        }
        for name in ("fxgraph_cache_hit", "fxgraph_cache_miss", "fxgraph_cache_bypass"):
            if counters["inductor"][name]:
                self.proof[name] = int(counters["inductor"][name])
        self.counters = {
            f"{group}.{name}"
            for group in ("inductor", "aot_autograd")
            for name, count in counters[group].items()
            if count
        }

    @property
    def in_force(self) -> dict[str, Any]:
        """The settings that the compilers had while they compiled."""
        return {**_SETTINGS, "dynamic": bool(_SYMBOLS)}

    def aot_eager(self, module: Any, inputs: Any, **options: Any) -> Callable[..., Any]:
        """The backend "aot_eager", with a look at the graphs that its no-op compiler gets."""

        def look(graph: Any, examples: Any) -> Callable[..., Any]:
            _count(graph.graph, self.targets)
            made: Callable[..., Any] = boxed_nop(graph, examples)
            return made

        made: Callable[..., Any] = aot_eager(
            module, inputs, fw_compiler=look, bw_compiler=look, **options
        )
        return made

    def labels(self) -> list[str]:
        targets: list[tuple[str, str]] = sorted(self.targets)
        return [f"{name}:{dtype}" for name, dtype in targets] + sorted(self.counters)

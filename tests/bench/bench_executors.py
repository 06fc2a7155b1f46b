"""What the executors cost over running the same function directly.

    python -m tests.bench.bench_executors

The floor is the same source in a bare process: inputs made from arrays, called, outputs fetched.
Times are medians in milliseconds; the ratio is what the pool adds. `--compiled` also times the
compiled modes, which takes a minute.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

import numpy as np

from engine.executors.environment import process_variables
from engine.executors.pool import Pool
from tests.executors.jobs import job

EAGER = ("torch-eager", "mindspore-pynative")
COMPILED = ("torch-aot", "mindspore-graph", "torch-inductor")
ARRAYS = {"x": np.linspace(-1, 1, 64, dtype=np.float32).reshape(8, 8)}
_HEAD = {"torch": "import torch as ops\n", "mindspore": "from mindspore import ops\n"}
_FLOOR = """
import json, statistics, sys, time
import numpy as np
framework, source, repeats = sys.argv[1], sys.argv[2], int(sys.argv[3])
if framework == "torch":
    import torch
    torch.set_num_threads(1)
    make, fetch = torch.from_numpy, lambda tensor: tensor.numpy()
else:
    import mindspore
    mindspore.runtime.launch_blocking()
    make, fetch = mindspore.Tensor, lambda tensor: tensor.asnumpy()
scope = {}
exec(source, scope)
array = np.linspace(-1, 1, 64, dtype=np.float32).reshape(8, 8)
def once():
    began = time.perf_counter()
    np.array(fetch(scope["forward"](make(array.copy()))))
    return time.perf_counter() - began
times = [once() for _ in range(repeats)]
print(json.dumps(1e3 * statistics.median(times[repeats // 4 :])))
"""


def straight(framework: str, nodes: int, *, turn: int = 0) -> str:
    """A source of so many operators in a row; another for each `turn`."""
    names = ["sin", "cos", "tanh", "exp", "sigmoid"]
    lines = [f"    v{k} = ops.{names[(k + k * turn) % 5]}({f'v{k - 1}' if k else 'x'})\n"
             for k in range(nodes)]  # fmt: skip
    return f"{_HEAD[framework]}\n\ndef forward(x):\n{''.join(lines)}    return v{nodes - 1}\n"


def floor(framework: str, source: str, repeats: int) -> float:
    """Milliseconds of the function itself, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", _FLOOR, framework, source, str(repeats)],
        env=process_variables(),
        capture_output=True,
        text=True,
        check=True,
    )
    found: float = json.loads(done.stdout.splitlines()[-1])
    return found


def median_ms(action: Callable[[int], object], repeats: int) -> float:
    times = []
    for turn in range(repeats):
        began = time.perf_counter()
        action(turn)
        times.append(1e3 * (time.perf_counter() - began))
    return statistics.median(times[repeats // 4 :])


def eager(pool: Pool, repeats: int) -> None:
    print(f"{'mode':20} {'nodes':>5} {'record':8} {'pool ms':>8} {'floor ms':>9} {'ratio':>6}")
    for mode in EAGER:
        framework = mode.split("-")[0]
        for nodes in (1, 30, 100):
            source = straight(framework, nodes)
            bare = floor(framework, source, repeats)
            for record in ("", "facts", "values"):
                spent = median_ms(
                    lambda _, m=mode, s=source, r=record: pool.run_jobs(
                        [job(m, s, ARRAYS, record=r)]
                    ),
                    repeats,
                )
                print(
                    f"{mode:20} {nodes:5} {record or '-':8} "
                    f"{spent:8.1f} {bare:9.2f} {spent / bare:6.1f}"
                )


def side_by_side(pool: Pool, modes: Sequence[str], repeats: int) -> None:
    """Both frameworks at once against one after the other."""
    jobs = [job(mode, straight(mode.split("-")[0], 100), ARRAYS) for mode in modes]
    apart = sum(median_ms(lambda _, one=one: pool.run_jobs([one]), repeats) for one in jobs)
    together = median_ms(lambda _: pool.run_jobs(jobs), repeats)
    print(f"\n{' and '.join(modes)}, 100 nodes: {apart:.1f} ms apart, {together:.1f} ms together")


def alone(pool: Pool, mode: str, repeats: int) -> None:
    source = straight(mode.split("-")[0], 30)
    spent = median_ms(lambda _: pool.run_jobs([job(mode, source, ARRAYS, alone=True)]), repeats)
    print(f"{mode}, 30 nodes, in a fresh process: {spent:.0f} ms")


def compiled(pool: Pool, repeats: int) -> None:
    print("\nnew graphs of 30 nodes, warm worker")
    for mode in COMPILED:
        spent = median_ms(
            lambda turn, m=mode: pool.run_jobs(
                [job(m, straight(m.split("-")[0], 30, turn=turn), ARRAYS)]
            ),
            repeats,
        )
        print(f"{mode:20} {spent:8.0f} ms")
        alone(pool, mode, 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compiled", action="store_true")
    parser.add_argument("--repeats", type=int, default=40)
    options = parser.parse_args()
    with Pool(on_status=lambda text: print(f"... {text}", file=sys.stderr)) as pool:
        eager(pool, options.repeats)
        side_by_side(pool, EAGER, options.repeats)
        for mode in EAGER:
            alone(pool, mode, 5)
        if options.compiled:
            compiled(pool, 4)


if __name__ == "__main__":
    main()

"""The engine's own commands: run, replay, judge, minimise, and the tables."""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from engine.campaign import campaign
from engine.errors import BadInput, EngineError
from engine.events import CampaignFinished, CampaignStarted, FindingFound, RoundFinished
from engine.executors.environment import Environment
from engine.executors.modes import mode_named
from engine.executors.outcome import Array
from engine.executors.pool import Pool
from engine.explain import explained
from engine.importation import WEIGHTS, Difference, Imported, compared, imported, read
from engine.ir.case import Case
from engine.ir.codec import load_case, save_case
from engine.ir.text import print_case
from engine.legality import Experiment, Row, rates_of, write_pages
from engine.listing import list_modes, list_mutators, list_ops, list_seeds
from engine.localisation import localised
from engine.minimising import smallest
from engine.mutators.spec import POOLS, pool_variants
from engine.ops.typing import check_types
from engine.options import PRESETS, Options
from engine.proving import PROOFS, counted, label_of, proofs, prove
from engine.proving import write as write_proofs
from engine.runfolder import RunFolder
from engine.script import write_script
from engine.seeds import SEEDS, seed_digest
from engine.seeds.importing import unmapped
from engine.selection import POLICIES
from engine.support.cli import add_support
from engine.trial import Bench, Trial

__all__ = ["main"]

DEFAULT_MODES = Options.modes
console = Console(stderr=True)


def main(arguments: Sequence[str] | None = None, *, others: Mapping[str, str] | None = None) -> int:
    """The engine's part of `flowmut`. Exit codes: 0 done, 1 the case fails, 2 bad input.

    `others`: commands that the caller runs itself, with their help.
    """
    given = _parser(others or {}).parse_args(arguments)
    signal.signal(signal.SIGTERM, _stop)
    try:
        command: Callable[[argparse.Namespace], int] = given.command
        return command(given)
    except EngineError as error:
        console.print(f"[red]flowmut:[/] {error}", highlight=False, soft_wrap=True)
        return 2
    except KeyboardInterrupt:
        console.print("stopped; the same command goes on from the last recorded round")
        return 130


def _stop(number: int, frame: object) -> None:
    raise KeyboardInterrupt


# ---------------------------------------------------------------------------------------- parser
def _parser(others: Mapping[str, str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="flowmut", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_run(commands)
    _add_import(commands)
    _add_legality(commands)
    _add_prove(commands)
    add_support(commands)
    for name, command, text in (
        ("replay", _replay, "run a case and show what every mode answers"),
        ("judge", _judge, "run a case and rule over it (exit code 1: it fails)"),
        ("minimise", _minimise, "shrink a failing case and write its standalone script"),
    ):
        one = commands.add_parser(name, help=text, description=text)
        one.add_argument("case", type=Path, metavar="CASE", help="a .flow file")
        one.add_argument("--modes", type=_names, default=DEFAULT_MODES, help="comma-separated")
        one.add_argument("--json", action="store_true", help="print JSON")
        if name == "judge":
            one.add_argument(
                "--explain", action="store_true", help="print the whole chain of reasoning"
            )
        if name == "minimise":
            one.add_argument("--out", type=Path, help="where the smaller case goes")
            one.add_argument("--seconds", type=float, default=120.0, help="budget")
        one.set_defaults(command=command)
    for name, rows, text in (
        ("seeds", list_seeds, "models to start from"),
        ("ops", list_ops, "operators and their call forms"),
        ("mutators", list_mutators, "mutation operators and their variants"),
        ("modes", list_modes, "ways to run a case"),
    ):
        one = commands.add_parser(name, help=text, description=text)
        one.add_argument("--json", action="store_true", help="print JSON")
        one.set_defaults(command=_listing(rows))
    for name, text in others.items():
        commands.add_parser(name, help=text, add_help=False)
    return parser


def _add_run(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    text = "mutate a seed, run its mutants, minimise what fails; resumable"
    run = commands.add_parser("run", help=text, description=text)
    run.add_argument("--seed", required=True, help=f"a case file, or one of: {', '.join(SEEDS)}")
    run.add_argument("--preset", choices=sorted(PRESETS), help="defaults for the options below")
    run.add_argument("--rounds", type=int, help="how many rounds (default 60)")
    run.add_argument("--modes", type=_names, help="comma-separated; see `flowmut modes`")
    run.add_argument("--policy", choices=sorted(POLICIES), help="default linucb")
    run.add_argument("--pool", choices=POOLS, help="which mutators (default full)")
    run.add_argument(
        "--ops", type=_names, help="comma-separated operators that every mutation must involve"
    )
    run.add_argument("--random-seed", type=int, default=0, help="default 0")
    run.add_argument("--window", type=int, help="nodes run for one mutant (default 10)")
    run.add_argument("--out", type=Path, help="run folder (default: named by the options)")
    run.add_argument("--python", help="interpreter with the frameworks (default: this one)")
    run.set_defaults(command=_run)


def _add_import(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    text = "make a seed of a PyTorch or ONNX model and check it against the original"
    one = commands.add_parser(
        "import", help=text, description=f"{text}; runs the code of a PyTorch model"
    )
    one.add_argument("source", metavar="SOURCE", help="module:factory, a .pt2 or .onnx file")
    one.add_argument("--name", required=True, help="of the seed: letters, digits, underscores")
    one.add_argument("--out", type=Path, help="the case file (default NAME.flow)")
    one.add_argument("--python", type=Path, help="interpreter with the model (default: this one)")
    one.add_argument("--search", type=Path, action="append", default=[], help="folder of modules")
    one.add_argument(
        "--batch", type=int, help="asked of the factory, or of an ONNX model that leaves it open"
    )
    one.add_argument(
        "--weights",
        choices=WEIGHTS,
        default="measured",
        help="drawn with the mean and spread of the model's own (default), drawn by their use, or"
        " the model's own, in a file beside the case",
    )
    one.add_argument("--json", action="store_true", help="print JSON")
    one.set_defaults(command=_import)


def _add_legality(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    text = "run candidates from before the filter and compare it with what runs; resumable"
    one = commands.add_parser("legality", help=text, description=text)
    one.add_argument("--candidates", type=int, default=1000, help="how many (default 1000)")
    one.add_argument("--random-seed", type=int, default=0, help="default 0")
    one.add_argument("--seeds", type=_names, default=(), help="comma-separated (every compact one)")
    one.add_argument("--out", type=Path, help="folder of what was run (default: named by the seed)")
    one.add_argument("--page", type=Path, help="also write PAGE.md and PAGE.json")
    one.add_argument("--json", action="store_true", help="print JSON")
    one.set_defaults(command=_legality)


def _add_prove(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    text = "find an accepted mutant of every variant that has none on record; resumable"
    one = commands.add_parser("prove", help=text, description=text)
    one.add_argument("--out", type=Path, default=PROOFS, help="the record (default: the engine's)")
    one.set_defaults(command=_prove)


def _names(text: str) -> tuple[str, ...]:
    return tuple(one.strip() for one in text.split(",") if one.strip())


# ------------------------------------------------------------------------------------------- run
def _run(given: argparse.Namespace) -> int:
    options = _options(given)
    place = given.out or Path(
        "var", "runs", f"{Path(options.seed).stem}-{options.policy}-{options.random_seed}"
    )
    folder = RunFolder.open(place, options)
    checkpoint, graph_text = folder.checkpoint()
    console.print(f"run folder {folder.path}", highlight=False)
    with _pool(given) as pool, _progress() as progress:
        bar = progress.add_task("starting the frameworks", total=options.rounds, found=0)
        corpus = folder.corpus(checkpoint)
        for event in campaign(
            options, pool, checkpoint=checkpoint, graph_text=graph_text, corpus=corpus
        ):
            folder.record(event)
            match event:
                case CampaignStarted():
                    progress.update(bar, completed=event.next_round, description=event.seed)
                case FindingFound():
                    one = event.finding
                    progress.console.print(
                        f"[bold]{one.symptom}[/] {one.title}  [dim]{one.minimised_nodes} operators,"
                        f" round {event.round}[/]",
                        highlight=False,
                        soft_wrap=True,
                    )
                    progress.update(bar, found=len(list(folder.findings())))
                case RoundFinished():
                    progress.update(bar, completed=event.round + 1)
                case CampaignFinished():
                    progress.console.print(f"{event.rounds} rounds, {event.findings} findings")
    return 0


def _options(given: argparse.Namespace) -> Options:
    wanted: dict[str, object] = {"rounds": 60, **PRESETS.get(given.preset or "", {})}
    for name in ("rounds", "modes", "policy", "pool", "ops", "window"):
        value = getattr(given, name)
        if value is not None:
            wanted[name] = value
    wanted |= {"random_seed": given.random_seed, "seed_digest": seed_digest(given.seed)}
    return Options(seed=given.seed, **wanted)  # type: ignore[arg-type]


def _progress(words: str = "rounds, {task.fields[found]} findings") -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(words),
        TimeElapsedColumn(),
        console=console,
    )


def _pool(given: argparse.Namespace) -> Pool:
    if not given.python:
        return Pool(on_status=_say)
    environments = {
        name: Environment(given.python, name, given.python) for name in ("torch", "mindspore")
    }
    return Pool(environments=environments, on_status=_say)


def _say(text: str) -> None:
    console.print(f"[dim]{text}[/]", highlight=False)


# -------------------------------------------------------------------------------------- legality
def _legality(given: argparse.Namespace) -> int:
    folder = given.out or Path("var", "legality", str(given.random_seed))
    experiment = Experiment(folder, given.candidates, given.random_seed, given.seeds)
    found: dict[int, Row] = {}
    with Pool(on_status=_say) as pool, _progress("candidates, {task.fields[found]} raise") as bar:
        task = bar.add_task("starting the frameworks", total=given.candidates, found=0)
        for row in experiment.run(pool):
            found[row.number] = row
            raised = sum(one.is_raised for one in found.values())
            bar.update(task, completed=len(found), description=row.seed, found=raised)
    rows = [found[number] for number in sorted(found)]
    if given.page:
        command = f"flowmut legality --candidates {given.candidates}"
        command += f" --random-seed {given.random_seed} --page {given.page}"
        write_pages(rows, given.page, command=command)
    rates = rates_of(rows)
    if given.json:
        print(json.dumps([one.to_json() for one in rates], indent=1))
        return 0
    table: list[dict[str, object]] = [
        {"constraints": one.configuration, **{name: r.text for name, r in one.figures.items()}}
        for one in rates
    ]
    _print(table, as_json=False)
    return 0


def _prove(given: argparse.Namespace) -> int:
    known = dict(proofs())
    labels = {label_of(*pair) for pair in pool_variants()}
    known = {name: one for name, one in known.items() if name in labels}
    words = "variants, {task.fields[found]} new"
    with Pool(on_status=_say) as pool, _progress(words) as bar:
        task = bar.add_task("starting the frameworks", total=len(labels), found=0)
        for number, one in enumerate(prove(pool, known.copy()), 1):
            known[one.variant] = one
            if number % 20 == 0:
                write_proofs(given.out, known)
            bar.update(task, completed=len(known), description=one.seed, found=number)
    write_proofs(given.out, known)
    rows: list[dict[str, object]] = [
        {"pool": name, "variants that count": count} for name, count in counted(known).items()
    ]
    _print(rows, as_json=False)
    return 0


# ------------------------------------------------------------------------------------- one case
def _load(path: Path) -> tuple[Case, dict[str, Array]]:
    case, blobs = load_case(path)
    check_types(case.graph)
    return case, dict(blobs)


def _trial(given: argparse.Namespace, bench: Bench) -> tuple[Trial, dict[str, Array]]:
    case, blobs = _load(given.case)
    return bench.trial(case, blobs), blobs


def _modes(given: argparse.Namespace) -> tuple[str, ...]:
    return tuple(mode_named(mode).name for mode in given.modes)


def _replay(given: argparse.Namespace) -> int:
    with Pool() as pool:
        trial, _ = _trial(given, Bench(pool, _modes(given)))
    rows: list[dict[str, object]] = [
        {
            "mode": mode,
            "status": one.status.value,
            "outputs": [f"{a.dtype}{list(a.shape)}" for a in one.calls[0].outputs]
            if one.calls
            else [],
            "failure": f"{one.failure.type}: {one.failure.message}" if one.failure else one.reason,
            "seconds": round(one.seconds, 4),
            "proof": dict(one.proof),
        }
        for mode, one in trial.outcomes.items()
    ]
    _print(rows, as_json=given.json)
    return 0


def _judge(given: argparse.Namespace) -> int:
    with Pool() as pool:
        trial, _ = _trial(given, Bench(pool, _modes(given)))
        reasoning = list(explained(trial)) if given.explain else []
    verdict = trial.verdict
    if given.json:
        found: dict[str, object] = {
            "ruling": verdict.ruling,
            "reason": verdict.reason,
            "keys": trial.keys,
        }
        print(json.dumps(found | ({"reasoning": reasoning} if given.explain else {})))
    else:
        print(f"{verdict.ruling}: {verdict.reason}")
        print("".join(f"{line}\n" for line in reasoning), end="")
    return 1 if verdict.failed else 0


def _minimise(given: argparse.Namespace) -> int:
    with Pool() as pool:
        bench = Bench(pool, _modes(given))
        trial, blobs = _trial(given, bench)
        if not trial.verdict.failed:
            raise BadInput(str(given.case), seen=trial.verdict.reason, expected="a failing case")
        divergence = trial.verdict.divergences[0]
        located = localised(trial, divergence, bench, blobs)
        made = smallest(trial, divergence, bench, blobs, located=located, seconds=given.seconds)
        if made is None:
            raise BadInput(str(given.case), seen="no failure", expected="a case that fails again")
        final, kept, small = made.trial, made.divergence, made.trial.case
        script = write_script(final.comparison, kept, blobs, title=final.verdict.reason)
    out = given.out or given.case.with_suffix(".min.flow")
    save_case(out, small, blobs)
    script_path = out.with_suffix(".py")
    script_path.write_text(script)
    if given.json:
        print(json.dumps({"case": str(out), "script": str(script_path), "key": divergence.key}))
    else:
        print(print_case(small))
        console.print(f"{out} and {script_path}", highlight=False)
    return 0


# --------------------------------------------------------------------------------------- import
def _import(given: argparse.Namespace) -> int:
    _say(f"exporting {given.source}")
    source = read(
        given.source,
        interpreter=given.python or Path(sys.executable),
        search=given.search,
        batch=given.batch,
    )
    missing = unmapped(source.exported)
    if missing:
        rows: list[dict[str, object]] = [
            {"operator": target, "calls": count} for target, count in missing.most_common()
        ]
        _print(rows, as_json=given.json)
        console.print(f"[red]flowmut:[/] {len(missing)} operators of the model have no counterpart")
        return 2
    _say(f"mapping {len(source.exported['nodes'])} calls")
    found = imported(source, name=given.name, weights=given.weights)
    with Pool(on_status=_say) as pool:
        _say("checking against the original")
        checks = compared(source, found, pool)
    agrees = checks[0].agrees
    out = given.out or Path(f"{given.name}.flow")
    if agrees:
        save_case(out, found.case, found.blobs)
    if given.json:
        print(json.dumps(found.report() | {"checks": [one.report() for one in checks]}))
    else:
        _show_import(found, checks)
    where = str(out) if agrees else "not written: it does not compute what the original does"
    console.print(where, highlight=False, soft_wrap=True)
    return 0 if agrees else 1


def _show_import(found: Imported, checks: Sequence[Difference]) -> None:
    report = found.report()
    operators = report.pop("operators")
    assert isinstance(operators, dict)
    _print([{"operator": name, "calls": count} for name, count in operators.items()], as_json=False)
    for name, value in report.items():
        print(f"{name}: {_cell(value)}")
    for check in checks:
        print(check.text)


# ------------------------------------------------------------------------------------- listings
def _listing(rows: Callable[[], list[dict[str, object]]]) -> Callable[[argparse.Namespace], int]:
    def show(given: argparse.Namespace) -> int:
        _print(rows(), as_json=given.json)
        return 0

    return show


def _print(rows: list[dict[str, object]], *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(rows, indent=1, default=str))
        return
    table = Table(box=None, header_style="bold")
    for name in rows[0] if rows else ():
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*(_cell(value) for value in row.values()))
    Console(width=None if sys.stdout.isatty() else 160).print(table)


def _cell(value: object) -> str:
    match value:
        case int() if not isinstance(value, bool):
            return f"{value:,}"
        case dict():
            return ", ".join(
                f"{k} {len(v) if isinstance(v, dict) else v}" for k, v in value.items()
            )
        case list() | tuple():
            return ", ".join(map(str, value))
    return str(value)


if __name__ == "__main__":
    raise SystemExit(main())

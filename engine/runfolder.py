"""A campaign's folder on disk: events, checkpoint, graphs, findings; resumable after a kill.

Order of writing: findings and events of a round, then its checkpoint (atomically). On resuming,
what was written of rounds after the checkpoint is dropped and those rounds are run again, so that
no round is lost and none is recorded twice.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from engine.corpus import Corpus
from engine.errors import BadInput
from engine.events import Event, FindingFound, RoundFinished, to_json
from engine.finding import Finding
from engine.options import Options

__all__ = ["RunFolder"]


@dataclass(frozen=True)
class RunFolder:
    """One campaign. `path` is created on `open`; a full or read-only disk is `BadInput`."""

    path: Path

    @classmethod
    def open(cls, path: Path, options: Options) -> RunFolder:
        """Create the folder, or reopen it; `BadInput` where it belongs to another campaign."""
        folder = cls(path)
        try:
            (path / "findings").mkdir(parents=True, exist_ok=True)
            (path / "graphs").mkdir(exist_ok=True)
        except OSError as error:
            raise BadInput(
                f"run folder {path}", seen=error, expected="a writable folder"
            ) from error
        wanted = json.loads(json.dumps(asdict(options)))
        recorded = folder._read("options.json")
        if recorded is not None:
            # A folder of an older version lacks the options that came later.
            plain = asdict(Options(seed=options.seed, rounds=options.rounds))
            recorded = {**json.loads(json.dumps(plain)), **recorded}
        if recorded is None:
            try:
                folder._write("options.json", json.dumps(wanted, indent=1))
            except OSError as error:
                raise BadInput(
                    f"run folder {path}", seen=error, expected="space and permission to write"
                ) from error
        else:
            differing = {
                name: (recorded.get(name), value)
                for name, value in wanted.items()
                if name != "rounds" and recorded.get(name) != value
            }
            if differing:
                name, (seen, asked) = next(iter(differing.items()))
                raise BadInput(
                    f"run folder {path}: {name}", seen=seen, expected=f"{asked} (as asked for now)"
                )
        return folder

    @property
    def events(self) -> Path:
        return self.path / "events.jsonl"

    def checkpoint(self) -> tuple[Mapping[str, object] | None, str]:
        """The last checkpoint and the text of its graph ("" for the seed's)."""
        found = self._read("checkpoint.json")
        if found is None:
            self._drop_after(0)
            return None, ""
        next_round = found.get("next_round")
        if not isinstance(next_round, int):
            raise BadInput(
                f"{self.path / 'checkpoint.json'}: next_round",
                seen=next_round,
                expected="an integer",
            )
        self._drop_after(next_round)
        name = found.get("graph")
        return found, self._graph(str(name)) if name else ""

    def corpus(self, checkpoint: Mapping[str, object] | None) -> dict[str, str]:
        """The texts of the graphs of a checkpoint's corpus, by digest."""
        return {name: self._graph(name) for name in Corpus.digests(checkpoint or {})}

    def _graph(self, name: str) -> str:
        graph = self.path / "graphs" / f"{name}.flow"
        if not graph.exists():
            raise BadInput(f"graph {graph}", seen="no such file", expected="the checkpoint's graph")
        return graph.read_text()

    def record(self, event: Event) -> None:
        """Write one event; after a round also its graph and checkpoint."""
        try:
            self._record(event)
        except OSError as error:
            raise BadInput(
                f"run folder {self.path}", seen=error, expected="space and permission to write"
            ) from error

    def _record(self, event: Event) -> None:
        data = to_json(event)
        data.pop("checkpoint", None)
        data.pop("graph_text", None)
        if isinstance(event, FindingFound):
            self._record_finding(event)
            data["finding"] = {
                name: getattr(event.finding, name)
                for name in ("title", "symptom", "key", "signature", "minimised_nodes")
            }
        with self.events.open("a") as stream:
            stream.write(json.dumps(data) + "\n")
            stream.flush()
            os.fsync(stream.fileno())
        if isinstance(event, RoundFinished):
            name = event.checkpoint.get("graph")
            if name and event.graph_text:
                self._write(f"graphs/{name}.flow", event.graph_text)
            self._write("checkpoint.json", json.dumps(event.checkpoint))

    def _record_finding(self, event: FindingFound) -> None:
        finding = event.finding
        stem = f"findings/{event.round:06d}-{finding.signature[:12]}"
        self._write(f"{stem}.json", json.dumps(finding.to_json(), indent=1))
        self._write(f"{stem}.py", finding.script)

    def findings(self) -> Iterator[tuple[Path, Finding]]:
        """Findings on record, oldest first."""
        for path in sorted((self.path / "findings").glob("*.json")):
            yield path, Finding.from_json(json.loads(path.read_text()))

    def _drop_after(self, next_round: int) -> None:
        """Forget what was written of rounds that will be run again."""
        for path in (self.path / "findings").glob("*.*"):
            number = path.name.partition("-")[0]
            # A name that begins with a dot was being written when the process died.
            if path.name.startswith(".") or (number.isdigit() and int(number) >= next_round):
                path.unlink()
        if not self.events.exists():
            return
        kept = []
        for line in self.events.read_text().splitlines():
            try:
                data = json.loads(line)
            except json.JSONDecodeError:
                break  # the line that was being written when the process died
            if data.get("round", -1) < next_round:
                kept.append(line)
        self._write("events.jsonl", "".join(f"{line}\n" for line in kept))

    def _read(self, name: str) -> Mapping[str, object] | None:
        path = self.path / name
        if not path.exists():
            return None
        try:
            found = json.loads(path.read_text())
        except json.JSONDecodeError as error:
            raise BadInput(str(path), seen=error, expected="JSON") from error
        if not isinstance(found, Mapping):
            raise BadInput(str(path), seen=type(found).__name__, expected="a JSON object")
        return found

    def _write(self, name: str, text: str) -> None:
        path = self.path / name
        temporary = path.with_name(f".{path.name}.{os.getpid()}")
        with temporary.open("w") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)

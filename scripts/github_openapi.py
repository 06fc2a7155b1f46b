"""Takes the parts of GitHub's OpenAPI description that our requests need into `tests/data/github/`.

    npm pack @octokit/openapi && tar xzf octokit-openapi-*.tgz
    python scripts/github_openapi.py package

The description is GitHub's own, under the MIT licence that is copied beside it. Texts for people
(descriptions, examples) are left out; nothing else is changed.
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["main"]

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "tests" / "data" / "github"
_ISSUES = "/repos/{owner}/{repo}/issues"
OPERATIONS = (
    (_ISSUES, "get"),
    (_ISSUES, "post"),
    (f"{_ISSUES}/{{issue_number}}", "get"),
    (f"{_ISSUES}/{{issue_number}}/comments", "post"),
    (f"{_ISSUES}/{{issue_number}}/timeline", "get"),
    ("/search/issues", "get"),
    ("/user", "get"),
)
_FOR_PEOPLE = {"description", "example", "examples", "externalDocs", "summary", "title"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("package", type=Path, help="the unpacked folder of @octokit/openapi")
    package = parser.parse_args().package
    description = json.loads((package / "generated" / "api.github.com.json").read_text())
    version = json.loads((package / "package.json").read_text())["version"]
    TARGET.mkdir(parents=True, exist_ok=True)
    text = json.dumps(taken(description, version), separators=(",", ":"), sort_keys=True)
    (TARGET / "openapi.json").write_text(f"{text}\n")
    shutil.copyfile(package / "LICENSE", TARGET / "LICENSE")


def taken(description: dict[str, Any], version: str) -> dict[str, Any]:
    """The operations, and every component that they reach."""
    paths: dict[str, Any] = {}
    for path, verb in OPERATIONS:
        paths.setdefault(path, {})[verb] = bare(description["paths"][path][verb])
    components: dict[str, dict[str, Any]] = {}
    waiting = list(references(paths))
    while waiting:
        _, _, kind, name = waiting.pop().split("/")
        if name not in components.setdefault(kind, {}):
            components[kind][name] = bare(description["components"][kind][name])
            waiting += references(components[kind][name])
    info = {"title": "Parts of GitHub's REST API", "version": f"@octokit/openapi {version}"}
    return {
        "openapi": description["openapi"],
        "info": info,
        "paths": paths,
        "components": components,
    }


def bare(node: Any, *, are_names: bool = False) -> Any:
    """Without texts for people; `are_names`: the keys are names of properties, and all stay."""
    if isinstance(node, list):
        return [bare(one) for one in node]
    if not isinstance(node, dict):
        return node
    return {
        key: bare(value, are_names=key == "properties" and not are_names)
        for key, value in node.items()
        if are_names or (key not in _FOR_PEOPLE and not key.startswith("x-"))
    }


def references(node: Any) -> Iterator[str]:
    """Every `$ref` inside."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "$ref" and isinstance(value, str):
                yield value
            else:
                yield from references(value)
    elif isinstance(node, list):
        for one in node:
            yield from references(one)


if __name__ == "__main__":
    main()

#!/usr/bin/env bash
# Makes .venv and installs everything pinned in pyproject.toml and requirements.lock into it.
# Run by `make`; may be run again at any time. FLOWMUT_PYTHON names the Python 3.11 to start from.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '==> %s\n' "$*"; }

is_python_311() {
    "$1" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' >/dev/null 2>&1
}

find_python() {
    local candidate
    for candidate in ${FLOWMUT_PYTHON:+"$FLOWMUT_PYTHON"} python3.11 python3 python; do
        if command -v "$candidate" >/dev/null 2>&1 && is_python_311 "$candidate"; then
            command -v "$candidate"
            return 0
        fi
        if [ "$candidate" = "${FLOWMUT_PYTHON:-}" ]; then
            echo "FLOWMUT_PYTHON: saw '$candidate', expected a Python 3.11" >&2
            return 1
        fi
    done
    echo "No Python 3.11 found (tried python3.11, python3, python)." >&2
    echo "Debian 12: apt-get install python3.11 python3.11-venv. Elsewhere set FLOWMUT_PYTHON to one." >&2
    return 1
}

make_environment() {
    if [ -x .venv/bin/python ] && is_python_311 .venv/bin/python; then
        return 0
    fi
    local python
    python=$(find_python)
    if ! "$python" -c 'import ensurepip, venv' >/dev/null 2>&1; then
        echo "$python cannot make virtual environments. Debian 12: apt-get install python3.11-venv" >&2
        return 1
    fi
    say "Making .venv with $python"
    "$python" -m venv .venv
}

# install WHAT ARGUMENTS...: pip prints errors only; the time each step took is said.
install() {
    local what=$1 started=$SECONDS
    shift
    say "Installing $what"
    .venv/bin/python -m pip install -qq --disable-pip-version-check -c requirements.lock "$@"
    say "  done in $((SECONDS - started)) s"
}

started=$SECONDS
say "Set-up: two to ten minutes the first time, most of it downloads (about 600 MB with PyTorch's CPU build)"
make_environment
install "the build tools" setuptools
install "PyTorch" torch numpy
install "MindSpore" mindspore
install "everything else, and this project in place" --no-build-isolation -e '.[dev]'
touch .venv/installed
say "Set-up finished in $((SECONDS - started)) s"

#!/usr/bin/env bash
# What `make run` starts once everything is installed: the web product.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ -f flowmut_web/management/commands/up.py ]; then
    exec .venv/bin/python manage.py up
fi
# Until the pages are there: a campaign of the quick look's size, in the terminal.
exec .venv/bin/flowmut run --seed convnextv2-tiny-compact --rounds 200

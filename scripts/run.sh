#!/usr/bin/env bash
# What `make run` starts once everything is installed: the web product.
set -euo pipefail
cd "$(dirname "$0")/.."
exec .venv/bin/python manage.py up

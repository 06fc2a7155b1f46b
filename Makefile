# `make run` and `make test` are the two to know; `make help` lists the rest.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PYTHON := .venv/bin/python
PYTEST := $(PYTHON) -m pytest --durations 15
# Test processes at once. Each may start a worker with a framework in it, about 1 GB.
TEST_PROCESSES ?= 2

say = @printf '==> %s\n'

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# Set-up ---------------------------------------------------------------------------------------------------------------

.venv/installed: pyproject.toml requirements.lock scripts/set_up.sh
	@bash scripts/set_up.sh

.PHONY: setup
setup: .venv/installed ## make .venv and install everything pinned (the other targets do it when needed)

.PHONY: lock
lock: .venv/installed ## write requirements.lock from what is installed
	@{ sed '/^[^#]/,$$d' requirements.lock; \
	   $(PYTHON) -m pip freeze --all --exclude-editable --exclude pip --exclude wheel \
	   | sed 's/+cpu$$//'; } > requirements.lock.new
	@mv requirements.lock.new requirements.lock

# Use ------------------------------------------------------------------------------------------------------------------

.PHONY: run
run: .venv/installed ## start the product: web, worker, and a first campaign
	$(say) "This machine"
	@$(PYTHON) -m flowmut_web.machine
	@exec bash scripts/run.sh

.PHONY: worker
worker: .venv/installed ## start more workers, on this machine or on one of their own
	@exec $(PYTHON) manage.py workers

.PHONY: support
support: .venv/installed ## run every operator in every form, dtype and mode; hours, resumable; writes docs/support.md
	@$(PYTHON) -m engine.cli support --group pynative --group graph & \
	$(PYTHON) -m engine.cli support --group torch --group inductor && wait $$!
	@$(PYTHON) -m engine.cli support --only-page --page docs

# Checks and tests -----------------------------------------------------------------------------------------------------

.PHONY: check
check: .venv/installed ## the quick part of the tests: format, lint, types, contracts, migrations, catalogue, seeds, engine
	$(say) "format and lint"
	@$(PYTHON) -m ruff format --check --quiet .
	@$(PYTHON) -m ruff check --quiet .
	$(say) "types"
	@$(PYTHON) -m mypy
	$(say) "import contracts"
	@.venv/bin/lint-imports --no-cache --no-logo
	$(say) "migrations"
	@FLOWMUT_LOG_LEVEL=WARNING $(PYTHON) manage.py makemigrations --check --dry-run
	$(say) "catalogue"
	@$(PYTHON) scripts/catalogue.py --check
	$(say) "figures of the seeds"
	@$(PYTHON) scripts/seeds.py --check
	$(say) "tests that need no framework"
	@$(PYTEST) -n $(TEST_PROCESSES) --dist worksteal tests/engine

.PHONY: test
test: check ## all tests but the slow ones; under 20 minutes on two cores
	$(say) "tests with a database, a framework or a browser"
	@$(PYTEST) -n $(TEST_PROCESSES) --dist loadgroup -m "not slow" --ignore=tests/engine tests

.PHONY: test-torch
test-torch: .venv/installed ## tests that run PyTorch
	@$(PYTEST) -m "torch or inductor" tests

.PHONY: test-mindspore
test-mindspore: .venv/installed ## tests that run MindSpore
	@$(PYTEST) -m mindspore tests

.PHONY: test-full
test-full: check ## every test, the slow ones too
	@$(PYTEST) -n $(TEST_PROCESSES) --dist loadgroup --ignore=tests/engine tests

.PHONY: bench
bench: .venv/installed ## measure the speed of the engine and of pictures
	@$(PYTHON) -m tests.bench.bench_engine
	@$(PYTHON) -m tests.bench.bench_mutation
	@$(PYTHON) -m tests.bench.bench_executors
	@$(PYTHON) -m tests.bench.bench_pictures

# Upkeep ---------------------------------------------------------------------------------------------------------------

.PHONY: format
format: .venv/installed ## format the code and mend what the linter can
	@$(PYTHON) -m ruff check --fix --quiet .
	@$(PYTHON) -m ruff format .

.PHONY: catalogue
catalogue: .venv/installed ## write docs/catalogue.md from the tables
	@$(PYTHON) scripts/catalogue.py

.PHONY: bugs
bugs: .venv/installed ## run the scripts of docs/bugs: reproduced, gone or could not run
	@$(PYTHON) scripts/bugs.py --run

.PHONY: api-coverage
api-coverage: .venv/installed ## write docs/api/*.txt: which of each framework's own operators our forms reach
	@$(PYTHON) scripts/api_coverage.py torch
	@$(PYTHON) scripts/api_coverage.py mindspore

.PHONY: clean
clean: ## remove caches and build leftovers; keeps .venv and var
	@rm -rf build ./*.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	@find . -path ./.venv -prune -o -name __pycache__ -type d -print0 | xargs -0 -r rm -rf

.PHONY: clean-venv
clean-venv: clean ## also remove .venv, so that the next target installs anew
	@rm -rf .venv

# Two commands do everything on a fresh machine with Python 3.11+ and make: make demo, make test.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

export RAGAS_DO_NOT_TRACK := true
export DEEPEVAL_TELEMETRY_OPT_OUT := 1
export LANGSMITH_TRACING := false

.DEFAULT_GOAL := help
.PHONY: help demo test check format compat bench audit clean

help: ## show this list
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1\t\2/' | expand -t 16

demo: $(VENV)/.installed ## install, judge the shipped samples and the judge itself, without key or model
	@# 3: a sample has a failed grade, and one of the shipped samples is there to show it
	$(BIN)/grouse-adapters evaluate examples/samples.jsonl --judge lexical || test $$? -eq 3
	$(BIN)/grouse-adapters meta-evaluate --judge lexical

test: $(VENV)/.dev ## install what the tests need and run them all
	$(BIN)/python -m pytest -n 2

check: $(VENV)/.dev ## ruff and mypy --strict
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.dev ## let ruff mend what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

compat: $(VENV)/.dev ## the tests of the core with the lowest and the newest openai, and alone
	$(BIN)/python tests/compat.py

bench: $(VENV)/.dev ## figures of speed and memory, side by side in one run
	$(BIN)/python -m tests.bench

audit: $(VENV)/.dev ## dependency conflicts, licences, what is in wheel and sdist
	$(BIN)/python -m pip check
	$(PIP) build pip-licenses
	$(BIN)/pip-licenses --order=license
	rm -rf build/audit && $(BIN)/python -m build --outdir build/audit . >/dev/null
	$(BIN)/python -m zipfile --list build/audit/*.whl
	tar --list --file build/audit/*.tar.gz

clean: ## remove what make made
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(VENV)/.created:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.installed: $(VENV)/.created pyproject.toml constraints.txt
	$(PIP) --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.installed
	$(PIP) --editable '.[dev]'
	@touch $@

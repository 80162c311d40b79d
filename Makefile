# Each target makes its own virtual environment in .venv and installs what it needs.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Tests start many processes: what Python compiles is kept for the next.
unexport PYTHONDONTWRITEBYTECODE
# uv installs in seconds; where it cannot be had, or finds no packages (it does not read pip's settings), pip does.
INSTALL = $(BIN)/python -m pip install --quiet uv \
  && $(BIN)/python -m uv pip install --quiet --python $(BIN)/python --editable '.[$(EXTRAS)]' \
  || $(BIN)/python -m pip install --quiet --editable '.[$(EXTRAS)]'

.DEFAULT_GOAL := help
.PHONY: help demo test kernels test-fast test-gpu fuzz check-package lint bench peers tradeoff folktables docs docs-serve docs-check clean

help:  ## show this list
	@awk -F':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "parityboost needs Python 3.11 or newer; found $$($(PYTHON) --version). Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/.dev: EXTRAS = dev
$(VENV)/.dev: $(BIN)/python pyproject.toml
	$(INSTALL)
	@touch $@ $(VENV)/.core

$(VENV)/.bench: EXTRAS = dev,bench
$(VENV)/.bench: $(BIN)/python pyproject.toml
	$(INSTALL)
	@touch $@ $(VENV)/.dev $(VENV)/.core

$(VENV)/.docs: EXTRAS = dev,docs
$(VENV)/.docs: $(BIN)/python pyproject.toml
	$(INSTALL)
	@touch $@ $(VENV)/.dev $(VENV)/.core

demo: $(VENV)/.core  ## a plain model and fair ones on the bundled Adult data, one table
	@$(BIN)/python -m parityboost.demo

lint: $(VENV)/.dev  ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

kernels: $(VENV)/.dev
	$(BIN)/python tests/kernels.py

test: $(VENV)/.dev  ## lint, types, and all tests with coverage
	@$(MAKE) --no-print-directory --jobs 2 lint kernels # one core each: otherwise two processes compile the same
	$(BIN)/pytest -n auto --cov --cov-report=term-missing:skip-covered --cov-fail-under=95

test-fast: $(VENV)/.dev  ## the tests that are not marked slow: within a minute on two cores
	$(BIN)/pytest -n auto -m "not slow"

test-gpu: $(VENV)/.dev  ## the tests of device="cuda", where CuPy is installed and finds a card
	$(BIN)/pytest -rs tests/engine/test_rows.py tests/fit/test_devices.py

ATTEMPTS ?= 20000
fuzz: $(VENV)/.dev  ## hostile tables, options, model files and command lines: make fuzz ATTEMPTS=20000
	$(BIN)/python tests/fuzz --attempts $(ATTEMPTS)

check-package:  ## build and install it: empty environments, oldest dependencies, other Pythons, side by side
	PYTHON=$(PYTHON) .ci/packages

bench: $(VENV)/.bench  ## speed as ratios against peers (about 15 minutes), and the quality table on Adult
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/adult_quality.py

peers: $(VENV)/.dev  ## fit against FairGBM, AIF360, MMM-Fair and the authors' code, each in its own environment
	$(BIN)/python benchmarks/peers.py

tradeoff: $(VENV)/.dev  ## balanced error and unfairness of ours and of every peer, on four datasets (about an hour)
	$(BIN)/python benchmarks/tradeoff.py --kdd

folktables: $(VENV)/.dev  ## others' benchmarks: ACSIncome and tables that others chose (a night; stopped, it goes on where it was)
	$(BIN)/python benchmarks/folktables.py
	$(BIN)/python benchmarks/tables_of_others.py --jobs 2

docs: $(VENV)/.docs  ## the documentation site in docs/_build/html; a warning is an error
	$(BIN)/sphinx-build -W --keep-going -n -b html docs docs/_build/html

PORT ?= 8000
docs-serve: docs  ## the same, to look at in a browser at http://localhost:8000: make docs-serve PORT=8000
	$(BIN)/python -m http.server --bind 127.0.0.1 --directory docs/_build/html $(PORT)

docs-check: docs  ## open every page in Chromium at two widths; screenshots in docs/_build/screenshots
	$(BIN)/python .ci/site.py docs/_build/html docs/_build/screenshots

clean:  ## remove the virtual environment and all caches
	rm -rf $(VENV) build dist docs/_build docs/api/generated docs/gallery docs/sg_execution_times.rst .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage*
	find src tests benchmarks -name __pycache__ -type d -exec rm -rf {} +

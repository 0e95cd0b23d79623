# Everything a newcomer types. `make help` lists it.
# PYTHON: the interpreter to use; by default the newest CPython from 3.11 on that can be found.
PYTHON ?= $(shell sh tools/find-python newest)
LABEL  := $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)
VENV   := .venv-$(LABEL)
BIN    := $(VENV)/bin

.PHONY: help demo test check lint docs bench clean
.DEFAULT_GOAL := help

help: ## this list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'

demo: $(BIN)/.ready ## the whole story on somebody else's package, in under three minutes
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh tools/demo

test: $(BIN)/.ready ## everything, as CI does it
	$(MAKE) --no-print-directory lint PYTHON=$(PYTHON)
	$(BIN)/python -m pytest -n auto

check: lint ## the fast checks only

lint: $(BIN)/.ready ## style, types, order of rooms
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/kl arch check

docs: $(BIN)/.ready ## print the pages of docs/commands and docs/hookspecs.md from the program
	$(BIN)/python tools/print_docs.py

bench: $(BIN)/.ready ## ratios against peers and limits
	$(BIN)/python -m bench

clean: ## remove what make made
	rm -rf .venv-* .mypy_cache .ruff_cache .pytest_cache

# Bytecode is wanted here: without it every start of kl costs twice as much.
$(BIN)/.ready: pyproject.toml tools/find-python
	@test -n "$(LABEL)" || { echo "make: no CPython 3.11 or newer found (PYTHON=$(PYTHON))." >&2; exit 3; }
	$(PYTHON) -m venv $(VENV)
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

# Everything a newcomer types. `make help` lists it.
# PYTHON: the interpreter to use; by default the newest CPython from 3.11 on that can be found.
# ALL=yes: with the tests marked `sweep`, of whose tables of cases a share is tried otherwise.
# SLOW=no: without the tests that take long (marked `slow`), and with fewer examples for those of properties.
# LINT=no: tests only.
# SYMBOLS=no: without noting which functions and files each test uses, which is a quarter of the time.
# AGAIN=yes: what a second interpreter may answer otherwise: as with both of these, and without the tests marked `once`.
ifndef PYTHON
PYTHON := $(shell sh tools/find-python newest)
endif
VERSION := $(shell $(PYTHON) -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])' 2>/dev/null)
# The name holds the patch release: CI makes those of two interpreters at once, and both may be of one minor version.
VENV    := .venv-$(VERSION)
BIN     := $(VENV)/bin
READY   := $(BIN)/.ready

# ROWS: a regular expression for names of rows, for COMPARE and HISTORY.
BENCH    := $(if $(COMPARE),bench.compare $(COMPARE),bench$(if $(filter yes,$(HISTORY)),.history))
# Which marks are omitted, and fewer examples.
WITHOUT  := $(if $(filter yes,$(ALL)),,sweep) $(if $(filter no,$(SLOW))$(AGAIN),slow) $(if $(AGAIN),once)
EMPTY    :=
SPACE    := $(EMPTY) $(EMPTY)
SELECTED := $(if $(strip $(WITHOUT)),-m "not $(subst $(SPACE), and not ,$(strip $(WITHOUT)))")
SELECTED += $(if $(filter no,$(SLOW))$(AGAIN),--hypothesis-profile=few)
RECORDED := $(if $(filter no,$(SYMBOLS)),--kl-symbols=off)

.PHONY: help demo test check lint docs site bench soak measures mutants environment release clean
.DEFAULT_GOAL := help

help: ## this list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

demo: $(READY) ## the whole story on somebody else's package, in under three minutes
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh tools/demo

# Lint at the same time: most of it is mypy, which uses one core. Not MAKE: make -n would run a line that names it.
test: $(READY) ## lint and tests, of long tables a share (ALL=yes: every case; SLOW=no: none that is slow)
	@$(if $(filter no,$(LINT))$(AGAIN),,$(MAKE_COMMAND) --no-print-directory lint PYTHON=$(PYTHON) & lint=$$!;) \
	$(BIN)/python -m pytest -n auto --dist worksteal $(SELECTED) $(RECORDED); tests=$$?; \
	$(if $(filter no,$(LINT))$(AGAIN),,wait $$lint || { echo "make: lint failed, see above" >&2; exit 1; };) exit $$tests

check: lint ## the fast checks only

lint: $(READY) ## style, types, order of packages
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/kl arch check

docs: $(READY) ## print the pages of docs/commands and docs/hookspecs.md from the program
	$(BIN)/python tools/print_docs.py

site: $(READY) ## the pages of docs/ as a site with a search, in site/
	$(BIN)/mkdocs build --strict --quiet

bench: $(READY) ## ratios against peers and limits (COMPARE=REV: two revisions; HISTORY=yes: a line of the history; ROWS=verify: some rows)
	$(BIN)/python -m $(BENCH) $(if $(ROWS),--rows '$(ROWS)')

# nice: it runs for hours, beside whatever else this machine does
soak: $(READY) ## faults at random until every figure of docs/faults.md is reached (MINUTES=60, ONLY=kills,power, SEED=7)
	nice -n 15 $(BIN)/python -m bench.soak $(if $(MINUTES),--minutes $(MINUTES)) $(if $(ONLY),--only $(ONLY)) $(if $(SEED),--seed $(SEED))

mutants: $(READY) ## change the code that decides, and see whether its tests notice (ALL=yes: every mutant; TARGET=tier)
	$(BIN)/python tools/mutants.py $(if $(filter yes,$(ALL)),--all) $(TARGET)

measures: $(READY) ## what a stranger has to learn: meaningless names, tokens, long sentences
	$(BIN)/python tools/measures.py

release: $(READY) ## build and check wheel and sdist, sign evidence of the tests (ARGS=--help: options)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[release]'
	$(BIN)/python -m tools.release $(ARGS)

environment: $(READY) ## the virtual environment alone

clean: ## remove what make made
	rm -rf .venv-* .mypy_cache .ruff_cache .pytest_cache site

# Bytecode is wanted here: without it every start of kl costs twice as much.
$(READY): pyproject.toml tools/find-python
	@test -n "$(VERSION)" || { echo "make: no CPython 3.11 or newer found (PYTHON=$(PYTHON))." >&2; exit 3; }
	$(PYTHON) -m venv $(if $(wildcard $@),,--clear) $(VENV)
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

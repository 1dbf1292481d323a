# One environment (.venv), one lock (requirements.lock). `make` alone prints the targets.

# A Python >= 3.11 to make .venv with; `make install PYTHON=/path/to/python` overrides the search.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python3.14; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
CONFIG ?= rig_configs/sim_impact.yaml
ARGS ?=
SOAK ?= 200
SEED ?= 1
PIP_FLAGS := --quiet --quiet --disable-pip-version-check --no-input
# pip's own settings must not turn the install into something else.
unexport PIP_USER PIP_TARGET PIP_PREFIX PIP_REQUIRE_VIRTUALENV

LOCK_VENV := build/lock-venv
UV_VERSION := 0.13.8

define CHECK_PYTHON
"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	echo "Python 3.11 or newer is needed, found $$("$(or $(PYTHON),python3)" --version 2>/dev/null || echo none):" \
		"install one, or name it with PYTHON=/path/to/python." >&2; exit 1; }; \
"$(PYTHON)" -c 'import venv, ensurepip' 2>/dev/null || { \
	echo "$(PYTHON) cannot make virtual environments (no venv/ensurepip module):" \
		"install that part, on Debian or Ubuntu with: apt install python3-venv" >&2; exit 1; }
endef

.DEFAULT_GOAL := help
.PHONY: help install trial test soak fuzz bench lint format lock clean

help: ## print this
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
	@echo "  ARGS=\"...\" is passed on to trial, test and lock, for example make test ARGS=\"-k wheel -x\""

install: $(STAMP) ## make .venv from requirements.lock (once; again when the lock or pyproject.toml changes)
	@:

trial: $(STAMP) ## one simulated impact trial (CONFIG=..., default rig_configs/sim_impact.yaml)
	@$(BIN)/hil trial $(CONFIG) $(ARGS)

test: $(STAMP) ## run the tests, in random order
	$(BIN)/pytest $(ARGS)

soak: $(STAMP) ## on a quiet machine: SOAK=200 trials and 200 drives workers, killed (SEED=1: of the first); faults at the wire
	$(BIN)/python tests/soak/kill_run.py --kills $(SOAK) --seed $(SEED)
	$(BIN)/python tests/soak/stop_run.py --kills $(SOAK) --seed $(SEED)
	$(BIN)/pytest --timeout 0 -m soak tests/wire

fuzz: $(STAMP) ## 5000 random and mutated bytes for each promise of a parser, both directions; 2 min
	HIL_FUZZ=1 $(BIN)/pytest --timeout 0 -m hypothesis tests/drivers

bench: $(STAMP) ## what README's numbers come from: models, loop and rig, 10 min on a machine with nothing else to do
	@mkdir -p build
	$(BIN)/hil bench models --json build/bench-models.json
	$(BIN)/hil bench loop --json build/bench-loop.json
	$(BIN)/hil bench rig --json build/bench-rig.json

lint: $(STAMP) ## style, types, import direction, tree rules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/check_tree.py

format: $(STAMP) ## fix what ruff can fix by itself
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

lock: ## write requirements.lock again, keeping its pins where they fit (ARGS=--upgrade: newest)
	@$(CHECK_PYTHON)
	@test -x $(LOCK_VENV)/bin/uv || { $(PYTHON) -m venv --clear $(LOCK_VENV) \
		&& $(LOCK_VENV)/bin/pip install $(PIP_FLAGS) uv==$(UV_VERSION); }
	$(LOCK_VENV)/bin/uv pip compile pyproject.toml --extra dev --no-config --no-python-downloads --quiet \
		--universal --python-version 3.11 --generate-hashes \
		--custom-compile-command "make lock" --output-file requirements.lock $(ARGS)

clean: ## remove .venv, builds and caches (never runs/)
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -not -path './.git/*' -not -path './runs/*' -prune -exec rm -rf {} +

# The stamp goes first and comes back last: an install that was cut short has none, and the next make starts afresh.
$(STAMP): pyproject.toml requirements.lock
	@$(CHECK_PYTHON)
	@if [ -e $(STAMP) ]; then echo "Bringing $(VENV) up to date ..."; rm -f $(STAMP); \
	else echo "Making $(VENV) with $(PYTHON) (once, about a minute) ..."; $(PYTHON) -m venv --clear $(VENV); fi
	@$(BIN)/python -m pip install $(PIP_FLAGS) --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install $(PIP_FLAGS) --no-deps --no-build-isolation --editable .
	@touch $(STAMP)

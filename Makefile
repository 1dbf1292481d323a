# One environment (.venv); a user's packages (requirements.lock), those of the quick tests (requirements-test.lock), and
# those of who works on this (requirements-dev.lock).
# `make` alone prints the targets.

# A Python >= 3.11 to make .venv with; `make install PYTHON=/path/to/python` overrides the search.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python3.14; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
TEST_STAMP := $(VENV)/.installed-test
DEV_STAMP := $(VENV)/.installed-dev
CONFIG ?= rig_configs/sim_impact.yaml
ARGS ?=
# Processes that run tests, at most 8: one more than there are processors, since tests wait for processes of theirs.
# WORKERS=0: none but pytest's own, as a debugger wants it.
WORKERS ?= $(shell expr $$(nproc) + 1)
SUITE = $(BIN)/pytest --numprocesses $(WORKERS) --maxprocesses 8 --dist worksteal --durations 20 --durations-min 1
QUICK = "not slow and not soak and not hardware"
SOAK ?= 200
SEED ?= 1
PART ?= deadlines
RUNS ?= 2000
CONFIGS ?= 2000
MINUTES ?= 30
STOPS ?= 50
MUTANTS ?= 200
PROCESSES ?= 2
FIGURES = $(filter-out %/outputs.py %/page_data.py %/code_reading.py,$(wildcard docs/figures/*.py)) docs/reproduce/macmahon.py docs/reproduce/cyril.py docs/reproduce/petersen_flexible_wheel.py docs/reproduce/walking.py

LOCK_VENV := build/lock-venv
UV_VERSION := 0.13.8
COMPILE = $(LOCK_VENV)/bin/uv pip compile --no-config --no-python-downloads --quiet --universal --python-version 3.11 \
	--generate-hashes --custom-compile-command "make lock"

# Container images often turn bytecode off: each process would compile the sources of all packages again.
unexport PYTHONDONTWRITEBYTECODE

define CHECK_PYTHON
"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	echo "Python 3.11 or newer is needed, found $$("$(or $(PYTHON),python3)" --version 2>/dev/null || echo none):" \
		"install one, or name it with PYTHON=/path/to/python." >&2; exit 1; }; \
"$(PYTHON)" -c 'import venv, ensurepip' 2>/dev/null || { \
	echo "$(PYTHON) cannot make virtual environments (no venv/ensurepip module):" \
		"install that part, on Debian or Ubuntu with: apt install python3-venv" >&2; exit 1; }
endef

.DEFAULT_GOAL := help
.PHONY: help install install-dev trial test test-all test-landing wheel-check test-loaded soak soak-deadlines soak-faults soak-endurance soak-page soak-cluster soak-cases mutants limits fuzz bench lint docs site figures figures-check format lock clean

help: ## print this
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
	@echo "  ARGS=\"...\" is passed on to trial, test and lock, for example make test ARGS=\"-k wheel -x\""

install: $(STAMP) ## make .venv from requirements.lock (once; again when the lock or pyproject.toml changes)
	@:

install-dev: $(DEV_STAMP) ## the same, and what test-all, lint and bench need (requirements-dev.lock)
	@:

trial: $(STAMP) ## one simulated impact trial (CONFIG=..., default rig_configs/sim_impact.yaml)
	@$(BIN)/hil trial $(CONFIG) $(ARGS)

test: $(TEST_STAMP) ## run the quick tests, three in four of all, in random order, on every processor (WORKERS=0: in one process)
	$(SUITE) -m $(QUICK) $(ARGS)

test-all: $(DEV_STAMP) ## run the slow ones too: whole campaigns, real processes, a browser; half an hour
	$(SUITE) $(ARGS)

test-landing: $(DEV_STAMP) ## run what .ci/run does: the quick tests, the slow ones of faults and stops, and a sixth of the others, chosen by the newest commit
	$(SUITE) --landing $$(git rev-parse HEAD) $(ARGS)

test-loaded: $(DEV_STAMP) ## run all tests without real-time rights, beside two processes that spin; STALLS=1: on a machine that stands still for 30 to 150 ms once a second instead (SEED=1)
	$(BIN)/python tests/soak/loaded.py $(if $(STALLS),--spinning 0 --stalls --seed $(SEED)) -- $(SUITE) $(ARGS)

soak: $(DEV_STAMP) ## PART=deadlines: SOAK=200 trials and 200 drives workers, killed (SEED=1: of the first); faults at the protocol level; stalls; controlled wheel loads; 200 damaged records. PART=faults: RUNS=2000 randomised fault runs, and each command of the pages in all its forms. PART=endurance: MINUTES=30 of runs under load, with faults. PART=page: STOPS=50 stops from a browser, first paint, load and memory over MINUTES=30. PART=cluster: RUNS=2000 of a sweep on a Dask cluster that loses a worker and its scheduler. PART=cases: every shipped config, vehicle and fault where CI has one of each kind, half an hour
	@$(MAKE) --no-print-directory soak-$(PART)

soak-deadlines:
	@echo "This measures deadlines: it wants a quiet machine, and says little on a busy one."
	$(BIN)/python tests/soak/kill_run.py --kills $(SOAK) --seed $(SEED)
	$(BIN)/python tests/soak/stop_run.py --kills $(SOAK) --seed $(SEED)
	$(BIN)/pytest --timeout 0 -m soak tests/protocol_realtime tests/soak
	$(BIN)/python tests/soak/load_runs.py
	SOAK_STALLS=30 $(BIN)/pytest --timeout 0 tests/protocol/test_protocol_stalls.py
	$(BIN)/python tests/soak/damage_records.py --records $(SOAK) --seed $(SEED)

soak-faults:
	$(BIN)/python tests/soak/fault_runs.py --runs $(RUNS) --seed $(SEED)
	$(BIN)/pytest --timeout 0 -m soak tests/docs

soak-endurance:
	@mkdir -p build
	$(BIN)/python tests/soak/endurance.py --minutes $(MINUTES) --seed $(SEED) --json build/endurance.json

soak-page:
	@mkdir -p build
	$(BIN)/python tests/soak/page_figures.py --stops $(STOPS) --minutes $(MINUTES) --json build/page.json

soak-cases:
	$(SUITE) -m soak tests/drivers tests/hil tests/hostile tests/models tests/protocol tests/tools tests/test_example_package.py $(ARGS)

soak-cluster:
	@mkdir -p build
	$(BIN)/python tests/soak/cluster_runs.py --runs $(RUNS) --json build/cluster.json

mutants: $(DEV_STAMP) ## break MUTANTS=200 random places of hil/safety, hil/control and hil/operator (SEED=1): those that no test noticed, and the score; in copies of the tree, PROCESSES=2, 20 min
	$(BIN)/python tools/mutants.py sample --mutants $(MUTANTS) --seed $(SEED) --processes $(PROCESSES) $(ARGS)

limits: $(DEV_STAMP) ## break each limit of tools/broken_limits.yaml on each side, and write docs/reference/limits-tested.md; 20 min
	$(BIN)/python tools/mutants.py limits --write --processes $(PROCESSES) $(ARGS)

fuzz: $(DEV_STAMP) ## 5000 random and mutated bytes for each promise of a parser, both directions, and wrong configs; CONFIGS=2000 configs with keys between their bounds, over all shipped ones; 1,000,000 forged commands; hostile files; lost cylinders; guided by coverage, what reads text; an hour and a half
	HIL_FUZZ=1 $(BIN)/pytest --timeout 0 -m hypothesis tests/drivers tests/hil/config
	HIL_FUZZ=1 $(BIN)/pytest --timeout 0 tests/hil/operator/test_command_forgeries.py
	HIL_FUZZ=1 $(BIN)/pytest --timeout 0 tests/hostile
	HIL_FUZZ=1 $(BIN)/pytest --timeout 0 tests/hil/control/test_lost_cylinders.py
	$(BIN)/python tests/soak/fuzz_coverage.py --seconds 60
	$(BIN)/python tests/soak/random_configs.py --configs $(CONFIGS) --seed $(SEED) --all

bench: $(DEV_STAMP) ## what the figures of docs/benchmarks.md come from: models, loop and rig, 10 min on a machine with nothing else to do
	@mkdir -p build
	$(BIN)/hil bench models --json build/bench-models.json
	$(BIN)/hil bench loop --json build/bench-loop.json
	$(BIN)/hil bench rig --json build/bench-rig.json

lint: $(DEV_STAMP) ## style, types, import direction, tree rules, names, measures of the structure, links and tables of the docs
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/check_tree.py
	$(BIN)/python tools/check_names.py
	$(BIN)/python tools/structure.py
	$(BIN)/python tools/reference.py --check

docs: $(DEV_STAMP) ## write the tables of docs/reference, and the picture of the architecture, from the code; then build the site
	$(BIN)/python tools/reference.py --write
	$(BIN)/python docs/figures/architecture.py
	$(BIN)/python tools/build_site.py $(ARGS)

site: $(DEV_STAMP) ## build the site into build/site, run its notebooks, look at every link of it; 1 min, no network
	$(BIN)/python tools/build_site.py $(ARGS)

figures: $(STAMP) ## make every picture and table of the docs again that a script computes, about half an hour with nothing else to do
	for script in $(FIGURES); do echo $$script; $(BIN)/python $$script || exit 1; done

figures-check: $(STAMP) ## compute what the tables of the docs say again, and compare every number with docs/figures/data; once a week, about an hour
	$(BIN)/python tools/figures_check.py $(ARGS)

format: $(DEV_STAMP) ## fix what ruff can fix by itself
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

wheel-check: $(DEV_STAMP) ## build wheel and sdist into build/dist, and try the wheel in an empty environment of each of PYTHONS="python3.12 ..." (default: that of .venv); 3 min each
	$(BIN)/python tools/wheel_check.py $(PYTHONS)

lock: ## write the lock files again, keeping their pins where they fit (ARGS=--upgrade: newest)
	@$(CHECK_PYTHON)
	@test -x $(LOCK_VENV)/bin/uv && $(LOCK_VENV)/bin/uv --version | grep -qF 'uv $(UV_VERSION)' \
		|| { $(PYTHON) -m venv --clear $(LOCK_VENV) && $(LOCK_VENV)/bin/pip --quiet install uv==$(UV_VERSION); }
	$(COMPILE) pyproject.toml --extra ni --extra export --extra cluster --extra page --extra view --extra rerun --extra ros2 --extra camera --extra scan --extra geotiff --extra mjcf --group install --group test-all --group lint --group release --output-file requirements-dev.lock $(ARGS)
	$(COMPILE) pyproject.toml --extra ni --extra page --group install --constraint requirements-dev.lock --output-file requirements.lock $(ARGS)
	$(COMPILE) pyproject.toml --extra ni --extra page --extra cluster --extra scan --group install --group test --constraint requirements-dev.lock --output-file requirements-test.lock $(ARGS)
	echo 'uv==$(UV_VERSION)' | $(COMPILE) - --output-file requirements-uv.lock

clean: ## remove .venv, builds and caches (never runs/)
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -not -path './.git/*' -not -path './runs/*' -prune -exec rm -rf {} +

# The script takes the stamps away first and brings them back last: an install that was cut short has none, and the next
# make starts afresh.
$(STAMP): pyproject.toml requirements.lock
	@$(CHECK_PYTHON)
	@"$(PYTHON)" tools/install.py $(VENV)

$(TEST_STAMP): pyproject.toml requirements-test.lock
	@$(CHECK_PYTHON)
	@"$(PYTHON)" tools/install.py $(VENV) --test

$(DEV_STAMP): pyproject.toml requirements-dev.lock
	@$(CHECK_PYTHON)
	@"$(PYTHON)" tools/install.py $(VENV) --dev

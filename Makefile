# Everything happens in a private .venv; nothing but git, make and python3 (3.11 or newer, with venv) is needed.
# Stamp files remember what is installed, so that the second time is quick.

PYTHON ?= python3
WORKERS ?= auto
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help demo test test-quick lint format docs images examples clean fuzz fuzz-kill paper
.PHONY: bench-solve bench-predict bench-guarantees bench-orders bench-scores bench-accuracy bench-replay bench-plurality bench-polls bench-scale bench-monitor bench-before-after bench-as-you-go bench-latency bench-start bench-gpu

help:  ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-19s %s\n", $$1, $$2}' Makefile

demo: $(VENV)/.has-plot  ## Train a forest, stop it early and show what that saves (writes ./demo)
	@$(BIN)/foregone demo -o demo

test: $(VENV)/.has-test $(VENV)/.looked-for-browser  ## Run the whole test suite, doctests included
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup

# Rooms that start processes, read models of other libraries, draw or try every size are left to `make test`.
SLOW_ROOMS := classifier cli display examples forest fuzzing gpu integrations paper report scale
test-quick: $(VENV)/.has-test  ## Run the tests that take no more than a second, without the slow rooms (1 minute)
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup -m "not slow" $(SLOW_ROOMS:%=--ignore=tests/%) tests

lint: $(VENV)/.has-lint  ## Check style, formatting, types and import layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.has-lint  ## Format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench-solve: $(VENV)/.has-test  ## Time the solver against HiGHS
	$(BIN)/python benchmarks/solve.py $(BENCH)

# BEFORE is the folder of another checkout, such as `git worktree add --detach ../before COMMIT` makes.
bench-before-after: $(VENV)/.has-test  ## Time this checkout against another one, BEFORE=FOLDER (5 minutes)
	$(BIN)/python -m benchmarks.before_after $(BEFORE) $(BENCH)

bench-predict: $(VENV)/.has-bench  ## Time early-stopped forests against other engines (25 minutes)
	$(BIN)/python -m benchmarks.predict $(BENCH)

bench-latency: $(VENV)/.has-bench  ## Time single rows as in a server: slowest calls, threads, processes, memory (4 minutes)
	$(BIN)/python -m benchmarks.latency $(BENCH)

bench-start: $(VENV)/.has-test  ## Measure start-up time with and without cached compiled code (4 minutes)
	$(BIN)/python -m benchmarks.start $(if $(BEFORE),--before $(BEFORE)) $(BENCH)

bench-guarantees: $(VENV)/.has-test  ## Test that limits are kept: simulated, by classifiers in use and on real data (25 minutes)
	$(BIN)/python -m benchmarks.guarantees $(BENCH)

bench-orders: $(VENV)/.has-test  ## Compare one tree order with many: cost, and spread of the disagreement (3 minutes)
	$(BIN)/python -m benchmarks.orders $(BENCH)

bench-scores: $(VENV)/.has-bench  ## Measure averaged forests and boosted trees: trees asked, limits kept, speed against other engines (30 minutes)
	$(BIN)/python -m benchmarks.scores $(BENCH)
	$(BIN)/python -m benchmarks.class_scores $(BENCH)
	$(BIN)/python -m benchmarks.boosted $(filter --write-docs,$(BENCH))

bench-accuracy: $(VENV)/.has-bench  ## Measure limits on accuracy and decision thresholds (40 minutes)
	$(BIN)/python -m benchmarks.accuracy $(BENCH)

bench-monitor: $(VENV)/.has-test  ## Measure monitors: false alarms, rows until drift is detected, real drift, time and memory (10 minutes)
	$(BIN)/python -m benchmarks.monitor $(BENCH)

bench-replay: $(VENV)/.has-test  ## Replay recorded votes of language models under every rule (6 minutes)
	$(BIN)/python -m benchmarks.replay $(BENCH)

bench-as-you-go: $(VENV)/.has-test  ## Measure learning while polling, on recorded votes of language models (10 minutes)
	$(BIN)/python -m benchmarks.as_you_go $(BENCH)

bench-polls: $(VENV)/.has-test  ## Poll an unreliable server about 10,000 questions and count the calls (4 minutes)
	$(BIN)/python -m benchmarks.polls $(BENCH)

bench-scale: $(VENV)/.has-test  ## Score 10 million rows locally, on Dask and on Spark (10 minutes)
	$(BIN)/python -m benchmarks.scale $(BENCH)

bench-gpu: $(VENV)/.has-bench  ## Time forests on a GPU against nvForest, the CPU and copying; skipped without a GPU (6 minutes)
	$(BIN)/python -m benchmarks.gpu $(BENCH)

bench-plurality: $(VENV)/.has-test  ## Compare rules for many answers on recorded votes, and test the limit (10 minutes)
	$(BIN)/python -m benchmarks.plurality $(BENCH)

# PAPER is what to reproduce ('run fig1 table3'), or options for all of it ('--repeats 5').
paper: $(VENV)/.has-paper  ## Reproduce every figure and table of the paper into ./results (hours; run again to resume)
	$(BIN)/python -m paper $(if $(filter-out -%,$(firstword $(PAPER))),,all) $(PAPER)

fuzz: $(VENV)/.has-test  ## Test every file reader with 100,000 damaged and hostile files (10 minutes)
	$(BIN)/python -m fuzzing files $(FUZZ)

fuzz-kill: $(VENV)/.has-test  ## Kill resumable jobs 500 times and check their results (10 minutes)
	$(BIN)/python -m fuzzing kills $(FUZZ)

images: $(VENV)/.has-plot  ## Draw the pictures of the README and of "How it works" again
	mkdir -p docs/images
	$(BIN)/foregone compare --voters 101 --max-disagreement 0.001 --png docs/images/envelopes.png
	$(BIN)/python docs/_pictures.py

examples: $(VENV)/.has-plot  ## Run the examples and redraw their pictures (2 minutes)
	@for script in $(filter-out examples/llm_judge.py examples/serving.py,$(wildcard examples/*.py)); do echo "$$script"; \
		$(BIN)/python -W error $$script --output docs/images/examples || exit 1; done

docs: $(VENV)/.has-docs  ## Build the documentation site into ./site; every warning is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict
	@echo "Open site/index.html"

clean:  ## Remove everything that was built here, including .venv
	rm -rf $(VENV) demo build dist results site fuzz-findings .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests benchmarks fuzzing paper -name __pycache__ -type d -prune -exec rm -rf {} +

# A .venv whose pip runs is kept; a half-made one is made again from nothing.
$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "foregone needs Python 3.11 or newer: install it, or name it with  make PYTHON=python3.12"; exit 1; }
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV) || \
		{ echo "python3 cannot make a virtual environment here: install its venv module (Debian: python3-venv)"; exit 1; }
	@touch $@

# Chromium looks at the report in the tests. It comes from the system; where it cannot be had they are skipped.
BROWSERS := chromium chromium-browser google-chrome google-chrome-stable
$(VENV)/.looked-for-browser: $(VENV)/.made
	@has() { for name in $(BROWSERS); do command -v $$name >/dev/null && return; done; false; }; \
	root() { if [ "$$(id -u)" = 0 ]; then "$$@"; else sudo -n "$$@"; fi; }; \
	has || { command -v apt-get && root apt-get update && root apt-get install -y chromium; } >/dev/null 2>&1; \
	has || echo "No Chromium here and none could be installed: the tests that need a browser are skipped."
	@touch $@

# What only developers need is a dependency group; what users may want too is an extra.
GROUPS := test bench docs lint
$(VENV)/.has-%: $(VENV)/.made pyproject.toml
	@echo "Setting up $(VENV) for '$*' (only the first time) ..."
	@$(PIP) 'pip>=25.1'  # the first that installs dependency groups
	@$(PIP) --editable $(if $(filter $*,$(GROUPS)),. --group $*,'.[$*]')
	@touch $@

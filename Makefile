# make run   opens the app        make test   runs everything CI runs
# make demo  shows the main job   make help   lists the rest

PYTHON  ?= python3
VENV    := .venv
BIN     := $(VENV)/bin
ARGS    ?=

# llama.cpp is compiled from source once. Its own tools, tests, server and image support are not used.
export CMAKE_ARGS ?= -DLLAVA_BUILD=OFF -DMTMD_BUILD=OFF -DLLAMA_BUILD_TOOLS=OFF \
	-DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_SERVER=OFF
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# The program is started anew for each command, by the tests all the time.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help run demo test lint types imports pytest fuzz soak snapshots screenshots bench model clean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

run: $(VENV)/.installed ## install if needed, then open the app (ARGS="--data-dir DIR")
	@sh scripts/build_model_runtime.sh $(VENV) background
	@$(BIN)/synthorg-tui $(ARGS)

demo: $(VENV)/.installed ## import the sample into a temporary store and search it, no terminal needed
	@$(BIN)/synthorg-tui demo $(ARGS)

test: $(VENV)/.developer ## everything that CI runs, and how long each part takes
	@begun=$$(date +%s); times=; \
	for part in lint types imports pytest; do \
		started=$$(date +%s); \
		$(MAKE) --no-print-directory $$part || exit; \
		times="$$times$$part $$(($$(date +%s) - started)) s, "; \
	done; \
	echo "make test took $$(($$(date +%s) - begun)) s: $${times%, }"

lint: $(VENV)/.developer
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.developer
	$(BIN)/mypy

imports: $(VENV)/.developer
	$(BIN)/lint-imports

pytest: $(VENV)/.developer
	@$(BIN)/python -m compileall -q -j 0 -x '/test_' synthorg_tui benchmarks tests # once, not in each worker
	$(BIN)/python -m pytest -n auto --dist worksteal --durations 20 --durations-min 1 $(ARGS)

fuzz: $(VENV)/.developer ## look for new examples against the property tests, a thousand each
	$(BIN)/python -m pytest -n auto --hypothesis-profile fuzz $(ARGS)

soak: $(VENV)/.developer ## random kills, floods and long histories at many points (hours)
	SYNTHORG_SOAK=1 $(BIN)/python -m pytest -n auto -m soak $(ARGS)

snapshots: $(VENV)/.developer ## accept the app's present screens as the expected ones
	$(BIN)/python -m pytest tests/tui --snapshot-update $(ARGS)

screenshots: $(VENV)/.developer ## draw the README's pictures again
	$(BIN)/python -m scripts.screenshots docs/screenshots

bench: $(VENV)/.developer ## speed, scale and start-up at 10k memories (more: see benchmarks/README.md)
	$(BIN)/python -m benchmarks.startup
	$(BIN)/python -m benchmarks.scale --memories 10000

model: $(VENV)/.installed ## compile llama.cpp now, in the foreground
	@sh scripts/build_model_runtime.sh $(VENV) foreground

clean: ## remove the environment and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis build *.egg-info

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed; found %d.%d. Set PYTHON=python3.12 or similar." % sys.version_info[:2] if sys.version_info < (3, 11) else 0)'
	@echo "Creating the environment in $(VENV)"
	@PIP_QUIET=1 $(PYTHON) -m venv --upgrade-deps $(VENV) || { $(BIN)/python -m pip --version && \
		echo "No newer pip was found: the one that came with Python stays."; }

$(VENV)/.installed: $(VENV)/bin/python pyproject.toml
	@echo "Installing synthorg-tui (about a minute)"
	@$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/.developer: $(VENV)/.installed scripts/build_model_runtime.sh
	@sh scripts/build_model_runtime.sh $(VENV) foreground
	@echo "Installing the test tools"
	@$(BIN)/python -m pip install --quiet --editable '.[dev,local-model]'
	@touch $@

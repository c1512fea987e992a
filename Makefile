# Two commands do all the set-up on a machine with Python 3.11 or later and a C compiler: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SECONDS ?= 60

.PHONY: demo test check bench fuzz sanitize clean

demo: $(VENV)/demo.stamp
	$(BIN)/rankproof --version
	$(BIN)/rankproof eval --sample

test: $(VENV)/test.stamp
	$(BIN)/python -m pytest -n auto

check: $(VENV)/check.stamp
	$(BIN)/ruff format --check src tests bench setup.py
	$(BIN)/ruff check src tests bench setup.py
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/bench.stamp
	$(BIN)/python -m bench

fuzz:
	bash fuzz/run.sh $(SECONDS)

sanitize: $(VENV)/test.stamp
	bash fuzz/sanitize.sh

NATIVE := $(wildcard src/rankproof/align/*.c src/rankproof/align/csrc/*.h)

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/demo.stamp: pyproject.toml setup.py $(NATIVE) | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(VENV)/%.stamp: pyproject.toml setup.py $(NATIVE) | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	touch $@

clean:
	rm -rf $(VENV) build dist src/*.egg-info src/rankproof/align/*.so bench/work fuzz/work

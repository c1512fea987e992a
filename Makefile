# Two commands do all the set-up on a machine with Python 3.11 or later and a C compiler: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SECONDS ?= 60

.PHONY: demo test oracle check docs docs-refresh bench fuzz kills sanitize package package-test lowest size clean

demo: $(VENV)/demo.stamp
	$(BIN)/rankproof --version
	$(BIN)/rankproof models get wordllama minilm
	$(BIN)/rankproof run
	@echo 'To go on: source $(BIN)/activate, then rankproof is a command of this shell; docs/tutorial/index.md explains the numbers.'

test: $(VENV)/test.stamp
	$(BIN)/python -m pytest -n auto

oracle: $(VENV)/oracle.stamp

check: $(VENV)/check.stamp
	$(BIN)/ruff format --check src tests bench benchmarks fuzz demos tools release setup.py
	$(BIN)/ruff check src tests bench benchmarks fuzz demos tools release setup.py
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(VENV)/docs.stamp
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

docs-refresh: $(VENV)/docs.stamp
	$(BIN)/python -m tools.docs refresh

bench: $(VENV)/bench.stamp
	$(BIN)/rankproof models get wordllama minilm
	$(BIN)/python -m bench
	$(BIN)/python -m bench.lexical
	$(BIN)/python -m bench.encoding
	$(BIN)/python -m bench.searching
	$(BIN)/python -m bench.fusing
	$(BIN)/python -m bench.flips
	$(BIN)/python -m bench.loading
	$(BIN)/python -m bench.page
	$(BIN)/python -m benchmarks.nulls

fuzz:
	bash fuzz/run.sh $(SECONDS)

kills: $(VENV)/test.stamp
	$(BIN)/rankproof models get wordllama
	$(BIN)/python -m fuzz.kills 50
	$(BIN)/python -m fuzz.judge_kills 50

sanitize: $(VENV)/test.stamp
	bash fuzz/sanitize.sh

package: $(VENV)/release.stamp
	rm -rf dist
	$(BIN)/python -m build --outdir dist/built
	cp dist/built/*.tar.gz dist
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/auditwheel repair --wheel-dir dist dist/built/*.whl
	rm -r dist/built
	$(BIN)/twine check --strict dist/*
	$(BIN)/abi3audit --strict dist/*.whl
	$(BIN)/python -m release.contents dist

package-test:
	bash release/try.sh $(PYTHON)

size:
	$(PYTHON) -m release.size . '.[retrieval]'

lowest: $(VENV)/release.stamp
	bash release/lowest.sh $(BIN)/uv $(PYTHON) -n auto

NATIVE := $(wildcard src/rankproof/_native/*.c src/rankproof/_native/align_src/*.h)

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/demo.stamp: pyproject.toml setup.py $(NATIVE) | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[retrieval]'
	touch $@

$(VENV)/%.stamp: pyproject.toml setup.py $(NATIVE) | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	touch $@

clean:
	rm -rf $(VENV) build dist site src/*.egg-info src/rankproof/*/*.so bench/work fuzz/work

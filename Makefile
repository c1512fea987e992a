# `make demo` and `make test` install what they need into .venv; they need Python 3.11 or later and a C compiler.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SECONDS ?= 60
KILLS ?= 100
MUTANTS ?= 200
CODE := src tests benchmarks demos tools setup.py
FAST := not slow and not release and not browser and not torch
# Each worker takes neighbouring tests, which share fixtures and libraries.
WORKERS ?= auto
PARALLEL := -n $(WORKERS) --dist worksteal
# Examples of property tests in `make test-all`: full, reduced (40%) or fast (10%).
EXAMPLES ?= full

.DEFAULT_GOAL := help
.PHONY: help demo test test-all test-release install-all oracle check names docs docs-refresh docs-demo bench parity fuzz attacks kills mutants coverage-native sanitize fuzz-python native-check package package-test lowest size sizes release-check clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1|/p' $(MAKEFILE_LIST) | awk -F '|' '{printf "make %-14s %s\n", $$1, $$2}'

demo: $(VENV)/demo.stamp ## install, then run the sample experiment
	$(BIN)/rankproof --version
	$(BIN)/rankproof models get wordllama minilm
	$(BIN)/rankproof run
	@echo 'Next: source $(BIN)/activate, then use the command rankproof; docs/tutorial/index.md explains the numbers.'

# Tests start many processes; without bytecode on disk each of them compiles the package again.
test test-all test-release: export PYTHONDONTWRITEBYTECODE :=

test: $(VENV)/test.stamp ## the fast tests, about 3 minutes on two cores
	$(BIN)/python -m pytest $(PARALLEL) -m '$(FAST)' --ignore tests/browser --hypothesis-profile=fast

test-all: $(VENV)/test.stamp ## every test but those of a release; those of PyTorch need `make oracle`, those of pages need Chromium
	$(BIN)/python -m pytest $(PARALLEL) -m 'not release' --hypothesis-profile=$(EXAMPLES)

test-release: $(VENV)/test.stamp ## the longest tests: kills, clusters that lose a node, other servers
	$(BIN)/python -m pytest $(PARALLEL) -m release

install-all: $(BIN)/python ## install what tests, checks and documentation need, in one go
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[check,docs,oracle]'
	touch $(VENV)/test.stamp $(VENV)/check.stamp $(VENV)/docs.stamp $(VENV)/oracle.stamp

oracle: $(VENV)/oracle.stamp ## install PyTorch, which some tests compare with

check: $(VENV)/check.stamp ## format, lint, types, import contracts
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/ruff check $(CODE)
	$(BIN)/mypy
	$(BIN)/lint-imports

names: $(VENV)/test.stamp ## write the imports for type checkers of measures, models, stages, stores and types
	$(BIN)/python -m tools.public_names

docs: $(VENV)/docs.stamp ## build the site of the documentation
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

docs-refresh: $(VENV)/docs.stamp $(VENV)/test.stamp ## write the output of the examples into the pages, draw the pictures of the demo
	$(BIN)/python -m tools.docs.pictures
	$(BIN)/python -m tools.docs refresh
	$(BIN)/python -m tools.docs.stage_diagram
	$(BIN)/python -m tools.docs.decision_diagram

docs-demo: $(VENV)/docs.stamp ## run the demo again, and save the run that pages and pictures show
	$(BIN)/python -m tools.docs.demo
	$(MAKE) docs-refresh

bench: $(VENV)/bench.stamp ## speed and memory beside other tools, about 25 minutes
	$(BIN)/rankproof models get wordllama minilm
	$(BIN)/python -m benchmarks.evaluation
	$(BIN)/python -m benchmarks.first_call
	$(BIN)/python -m benchmarks.bm25
	$(BIN)/python -m benchmarks.bm25_scale
	$(BIN)/python -m benchmarks.encoding
	$(BIN)/python -m benchmarks.vector_search
	$(BIN)/python -m benchmarks.fusion
	$(BIN)/python -m benchmarks.tuning
	$(BIN)/python -m benchmarks.diversity
	$(BIN)/python -m benchmarks.permutation_test
	$(BIN)/python -m benchmarks.compare_speed
	$(BIN)/python -m benchmarks.load_results
	$(BIN)/python -m benchmarks.read_files
	$(BIN)/python -m benchmarks.report_page
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps rbo
	$(BIN)/python -m benchmarks.rank_statistics
	$(BIN)/python -m benchmarks.error_rates
	$(BIN)/python -m benchmarks.decision_rule --rounds 50
	$(BIN)/python -m benchmarks.decision_limits --rounds 20
	$(BIN)/python -m benchmarks.judge_labels --rounds 5
	$(BIN)/python -m benchmarks.judge_labels rag --rounds 20
	$(BIN)/python -m benchmarks.judge_labels missing --rounds 20
	$(BIN)/python -m benchmarks.claim_draws --rounds 100
	$(BIN)/python -m benchmarks.unjudged_rule --collections Cranfield
	$(BIN)/python -m benchmarks.gate_rule --rounds 200
	$(BIN)/python -m benchmarks.interval_coverage
	$(BIN)/python -m benchmarks.family_wise_error
	$(BIN)/python -m benchmarks.repeats_coverage
	$(BIN)/python -m benchmarks.label_coverage --rounds 100

parity: $(VENV)/test.stamp ## values compared with those that other tools computed (tests/golden)
	$(BIN)/python -m benchmarks.parity_trec_eval
	$(BIN)/python -m benchmarks.parity_fusion
	$(BIN)/python -m benchmarks.parity_tuning
	$(BIN)/python -m benchmarks.parity_ir_measures
	$(BIN)/python -m benchmarks.parity_statistics

fuzz: $(VENV)/test.stamp ## fuzz the native code under ASan and UBSan, SECONDS (60) for each harness
	bash tools/fuzz/run.sh $(SECONDS)

fuzz-python: $(VENV)/test.stamp ## fuzz the public functions of Python with atheris, SECONDS (60)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check atheris
	$(BIN)/python -m tools.fuzz.guided $(SECONDS)
	cat tools/fuzz/work/guided/report.txt

attacks: $(VENV)/test.stamp ## hostile files, servers, stores, caches, models, results, requests and plug-ins
	$(BIN)/python -m tools.attacks.files
	PYTHONPATH=tests $(BIN)/python -m tools.attacks.servers
	PYTHONPATH=tests $(BIN)/python -m tools.attacks.stores
	PYTHONPATH=tests $(BIN)/python -m tools.attacks.model_folders
	$(BIN)/python -m tools.attacks.result_edits --every 7
	PYTHONPATH=tests $(BIN)/python -m tools.attacks.model_apis --every 8
	$(BIN)/python -m tools.attacks.cache
	PYTHONPATH=tests $(BIN)/python -m tools.attacks.judgement_logs
	$(BIN)/python -m tools.attacks.web
	$(BIN)/python -m tools.attacks.agent
	$(BIN)/python -m tools.attacks.plugins
	$(BIN)/python -m tools.attacks.pytest_plugin

kills: $(VENV)/test.stamp ## kill commands KILLS times (100) at random moments and check what they leave
	$(BIN)/rankproof models get wordllama
	$(BIN)/python -m tools.kills $(KILLS)

mutants: $(VENV)/test.stamp ## change the code in MUTANTS (200) places, one at a time; tests must fail
	$(BIN)/python -m tools.mutants $(MUTANTS)

coverage-native: $(VENV)/test.stamp ## the lines of C that tests and the corpora of the fuzzers reach
	bash tools/fuzz/coverage.sh

sanitize: $(VENV)/test.stamp ## tests of the native code under ASan and UBSan
	bash tools/fuzz/sanitize.sh

native-check: $(VENV)/test.stamp ## build the C code for x86-64, i386, arm64 and s390x without warnings, and run its tests there
	bash tools/native/check.sh

package: $(VENV)/release.stamp ## build and check the wheel and the sdist in dist/
	rm -rf dist
	$(BIN)/python -m build --outdir dist/built
	cp dist/built/*.tar.gz dist
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/auditwheel repair --wheel-dir dist dist/built/*.whl
	rm -r dist/built
	$(BIN)/twine check --strict dist/*
	$(BIN)/abi3audit --strict dist/*.whl
	$(BIN)/python -m tools.release.contents dist

package-test: ## install what is in dist/ into fresh environments and try it
	bash tools/release/try_install.sh $(PYTHON)

lowest: $(VENV)/release.stamp ## the tests of the wheel in dist/ with the lowest versions that pyproject.toml allows
	bash tools/release/test_versions.sh lowest-direct $(BIN)/uv $(PYTHON) $(PARALLEL) -m 'not browser and not release'

python-%: $(VENV)/release.stamp
	bash tools/release/test_versions.sh highest $(BIN)/uv "$$($(BIN)/python -m tools.release.pythons $*)" $(PARALLEL) -m '$(FAST)' --hypothesis-profile=fast

sizes: ## lines, modules, names and words of the project
	$(PYTHON) -m tools.sizes

size: ## packages and MB of the core and of the extra retrieval
	$(PYTHON) -m tools.release.size . '.[retrieval]'

release-check: $(VENV)/release.stamp ## every check of a release, hours; `make python-3.14` is one of them
	$(BIN)/python -m tools.release.check $(CHECKS)

NATIVE := $(wildcard src/rankproof/_native/*.[ch] src/rankproof/_native/*_src/*.h)

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/demo.stamp: pyproject.toml setup.py $(NATIVE) | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[retrieval]'
	touch $@

$(VENV)/%.stamp: pyproject.toml setup.py $(NATIVE) | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	touch $@

clean: ## remove what was built and installed
	rm -rf $(VENV) build dist site src/*.egg-info src/rankproof/*/*.so benchmarks/work tools/fuzz/work tools/kills/work tools/native/work
	find $(CODE) -name __pycache__ -prune -exec rm -r {} +

# Targets: setup, demo, check, test, deep, parity, parity-report, parity-choices, bench, oracle, kube, docs. Figures and seeds are variables: make parity SEEDS=20
PYTHON ?= python3
SEEDS ?= 200
PROFILES ?= basic,affinity,spread,mixed,volumes,dra
JOBS ?= 2
DEEP ?= tests/state
EXAMPLE := examples/cluster.yaml
POD_THAT_FITS_NOWHERE := shop/giant
POD_THAT_FITS := shop/web-1

BIN := .venv/bin
STAMP := .venv/.setup-stamp
ORACLE := .build/oracle
ORACLE_SOURCES := $(wildcard tools/oracle/*.go) tools/oracle/go.mod tools/oracle/go.sum

.DEFAULT_GOAL := test
.PHONY: setup demo check test deep parity parity-report parity-choices bench oracle kube docs clean

setup: $(STAMP)

$(STAMP): requirements-dev.txt pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@

# Exit status 1 says that something does not fit, which the demo shows on purpose; 2 is an error.
demo: setup
	$(BIN)/nodewise simulate $(EXAMPLE) || test $$? -eq 1
	$(BIN)/nodewise explain $(EXAMPLE) $(POD_THAT_FITS_NOWHERE) || test $$? -eq 1
	$(BIN)/nodewise explain $(EXAMPLE) $(POD_THAT_FITS)

check: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: check oracle kube
	NODEWISE_ORACLE=$(CURDIR)/$(ORACLE) $(BIN)/python -m pytest -n $(JOBS)

# 5,000 examples for every property, 5,000 sequences for every state machine; DEEP names the tests.
deep: setup oracle
	HYPOTHESIS_PROFILE=deep NODEWISE_ORACLE=$(CURDIR)/$(ORACLE) $(BIN)/python -m pytest -n $(JOBS) $(DEEP)

parity: setup oracle
	NODEWISE_ORACLE=$(CURDIR)/$(ORACLE) $(BIN)/python -m tests.parity.compare --seeds $(SEEDS) --profiles $(PROFILES)

# Writes docs/parity.md and docs/parity.json. An interrupted run goes on where it stopped.
parity-report: setup oracle
	NODEWISE_ORACLE=$(CURDIR)/$(ORACLE) $(BIN)/python -m tests.parity.report --seeds $(SEEDS) --profiles $(PROFILES) --jobs $(JOBS)

# The very nodes that kube-scheduler takes with one worker, ties and sample included, up to 1,000 nodes.
parity-choices: setup oracle
	NODEWISE_ORACLE=$(CURDIR)/$(ORACLE) $(BIN)/python -m tests.parity.compare --tie-break kube --seeds $(SEEDS) --profiles $(PROFILES)

bench: setup oracle
	NODEWISE_ORACLE=$(CURDIR)/$(ORACLE) $(BIN)/python -m bench.against_oracle
	NODEWISE_ORACLE=$(CURDIR)/$(ORACLE) $(BIN)/python -m bench.startup
	$(BIN)/python -m bench.caches
	NODEWISE_ORACLE=$(CURDIR)/$(ORACLE) $(BIN)/python -m bench.cache

oracle: $(ORACLE)

$(ORACLE): $(ORACLE_SOURCES) tools/build-oracle
	tools/build-oracle $@

# A real kube-apiserver with etcd, kubectl, controllers, kube-scheduler and fake nodes; built once, see tools/kube/build.
kube: setup
	nice tools/kube/build

docs: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation -e '.[docs]'
	$(BIN)/mkdocs build

clean:
	rm -rf .build .mypy_cache .ruff_cache .pytest_cache .import_linter_cache

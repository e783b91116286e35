# `make run` and `make test` are all that is needed; `make help` lists the rest.
# Needed beforehand: Python 3.11 or newer, and make.

VENV ?= .venv
BIN := $(VENV)/bin
PY := $(BIN)/python
# Two workers: the browser tests keep one busy (they share a server), all others run on the second.
WORKERS ?= 2
# Extra arguments for pytest: make test ARGS="-k roofline"
ARGS ?=
# Streamlit takes the next free port from 8501 unless one is asked for: make run PORT=9000
PORT ?=
# Only this machine reaches the dashboard unless told otherwise: make run ADDRESS=0.0.0.0
# (With an address given, Streamlit also asks no other host what this machine is called outside.)
ADDRESS ?= localhost

RUN_STAMP := $(VENV)/.installed-run
DEV_STAMP := $(VENV)/.installed-dev
PIP_INSTALL := $(PY) -m pip install --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help docs run test lint types format bench fuzz soak mutants accuracy screenshots chromium clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: $(RUN_STAMP) ## open the dashboard in a browser (the first time it installs what is needed)
	@$(BIN)/streamlit run app.py --server.address $(ADDRESS) $(if $(PORT),--server.port $(PORT))

test: $(DEV_STAMP) chromium ## run every test, those in a real browser too
	@$(PY) -m pytest -n $(WORKERS) $(ARGS)

lint: $(DEV_STAMP) ## check style (ruff)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: $(DEV_STAMP) ## check types (mypy, strict on slmopt/)
	@$(BIN)/mypy

format: $(DEV_STAMP) ## rewrite files in the project's style
	@$(BIN)/ruff check --fix-only --quiet .
	@$(BIN)/ruff format .

bench: $(DEV_STAMP) chromium ## time the million-point pass and the simulation, errors of the fit, files of a million rows, many sessions at once, and key press to painted figure on every page
	@$(PY) -m benchmarks.bench $(ARGS)

fuzz: $(DEV_STAMP) ## an hour of hostile files for every reader (ARGS="--minutes 5")
	@$(PY) -m benchmarks.fuzz $(ARGS)

soak: $(DEV_STAMP) ## an hour of visitors: is the server's memory flat? (ARGS="--minutes 10")
	@$(PY) -m benchmarks.sessions --soak $(ARGS)

mutants: $(DEV_STAMP) ## break formulas on purpose: do the tests notice? Writes docs/mutants.md
	@$(PY) -m benchmarks.mutants --write $(ARGS)

screenshots: $(DEV_STAMP) chromium ## picture every page in its main states, into docs/screenshots/
	@$(PY) -m benchmarks.screenshots $(ARGS)

docs: $(RUN_STAMP) ## write docs/method.md and docs/formats.md from the package's own words
	@$(PY) -m slmopt.reports.documents

accuracy: $(DEV_STAMP) ## hold every reference measurement against the product, and write docs/accuracy.md
	@$(PY) -m benchmarks.accuracy

chromium: $(DEV_STAMP)
	@$(PY) tests/browser/chromium.py --install

clean: ## delete the virtual environment, caches and what bench and screenshots wrote
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis screenshots benchmarks/results pages/ui/static/plotly*.js
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# An explicit PYTHON=... is the only candidate; otherwise the first one that is new enough.
$(PY):
	@for candidate in $(or $(PYTHON),python3 python3.14 python3.13 python3.12 python3.11 python); do \
	  if "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then found="$$candidate"; break; fi; \
	done; \
	if [ -z "$$found" ]; then \
	  echo "slmopt needs Python 3.11 or newer, and none of these is one: $(or $(PYTHON),python3 python3.14 python3.13 python3.12 python3.11 python)." >&2; \
	  echo "Install one, or name it: make PYTHON=/path/to/python3.12 $(MAKECMDGOALS)" >&2; exit 1; \
	fi; \
	if ! "$$found" -c 'import venv, ensurepip' 2>/dev/null; then \
	  version=$$("$$found" -c 'import sys; print("%d.%d" % sys.version_info[:2])'); \
	  echo "$$found cannot make virtual environments: Debian and Ubuntu ship that part apart." >&2; \
	  echo "Install it (apt-get install python$$version-venv), then run make again." >&2; exit 1; \
	fi; \
	echo "Making $(VENV) with $$("$$found" --version) ..."; \
	rm -rf $(VENV) && "$$found" -m venv $(VENV)

# The stamps keep make from calling pip again until a requirements file changes.
$(RUN_STAMP): requirements.txt | $(PY)
	@echo "Installing what the dashboard runs on (once) ..."
	@$(PIP_INSTALL) -r requirements.txt
	@touch $@

$(DEV_STAMP): requirements-dev.txt requirements.txt | $(PY)
	@echo "Installing what tests and checks need (once) ..."
	@$(PIP_INSTALL) -r requirements-dev.txt
	@touch $(RUN_STAMP) $@

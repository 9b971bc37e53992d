# make help lists what there is. Every target first sets up $(VENV), once.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

STUDY ?= demo
VENV ?= .venv
PYTHON ?=
OPTIONS ?=
TESTS ?= tests

$(if $(strip $(VENV)),,$(error VENV is empty: is the conda environment active?))
BIN := $(VENV)/bin
STAMP := $(VENV)/.helpers-installed
# The venv's own kernel comes before one of the same name in the user's home.
export JUPYTER_PREFER_ENV_PATH := 1

.PHONY: help report test lab lint docs plan setup clean

help: ## this list
	@echo 'make TARGET [STUDY=demo] [OPTIONS="..."]'
	@grep -hE '^[a-z-]+:.*## ' Makefile | sed -E 's/:.*## /\t/' | while IFS=$$'\t' read -r name text; do \
		printf '  make %-8s %s\n' "$$name" "$$text"; done
	@echo 'Studies: $(basename $(notdir $(wildcard data/studies/*.yml)))'

report: $(STAMP) ## run the notebooks of STUDY, then build the site (finished steps are reused)
	@"$(BIN)/helpers" report "$(STUDY)" $(OPTIONS)

plan: $(STAMP) ## print what STUDY would run and what is already done; runs nothing
	@"$(BIN)/helpers" plan "$(STUDY)" $(OPTIONS)

test: $(STAMP) ## run the tests, several at once (TESTS=tests/test_x.py for some of them)
	@"$(BIN)/python" -m pytest -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder $(TESTS) $(OPTIONS)

lint: $(STAMP) ## ruff, mypy, and the rules for notebooks
	@"$(BIN)/ruff" check src tests notebooks
	@"$(BIN)/ruff" format --check src tests notebooks
	@"$(BIN)/mypy"
	@"$(BIN)/lint-imports" --no-logo
	@"$(BIN)/python" -c 'import sys; from helpers.runner.notebooks import main; sys.exit(main())'

docs: $(STAMP) ## write docs/tables.md anew from what the rooms declare
	@"$(BIN)/python" -m helpers.report.tables

lab: $(STAMP) ## open JupyterLab on this project
	@"$(BIN)/jupyter" lab --LabApp.default_url='/lab/tree/README.md?factory=Markdown%20Preview' $(OPTIONS)

setup: $(STAMP) ## only set up the environment

clean: ## remove the site and the caches of tools; keeps the environment and every run
	rm -rf _site report .mypy_cache .ruff_cache .pytest_cache .quarto

# The stamp is written last, so an interrupted installation is simply repeated.
$(STAMP): pyproject.toml constraints.txt
	@if ! "$(BIN)/python" -c '' 2>/dev/null; then \
		found=''; \
		for candidate in $(or $(PYTHON),python3 python3.12 python3.13 python3.11 python); do \
			if "$$candidate" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; \
			then found="$$candidate"; break; fi; \
		done; \
		if [ -z "$$found" ]; then \
			echo 'Python 3.11, 3.12 or 3.13 is needed; name it with: make PYTHON=/path/to/python3.12 …' >&2; exit 1; fi; \
		echo "== making $(VENV) with $$("$$found" --version)"; \
		"$$found" -m venv --clear "$(VENV)"; \
	fi
	@echo '== installing the pinned packages (minutes the first time; everything is in $(VENV)/install.log)'
	@"$(BIN)/python" -m pip install -c constraints.txt -e '.[dev,llm]' 2>&1 | tee "$(VENV)/install.log" | { found=0; \
		while IFS= read -r line; do case "$$line" in \
			Collecting*) found=$$((found + 1)); [ $$((found % 25)) != 0 ] || echo "   $$found packages found" ;; \
			*Downloading*\([0-9][0-9]*MB\)*|*Downloading*GB\)*) echo "  $$line" ;; \
			Installing*collected*) echo "   installing $$(set -- $$line; echo $$(($$# - 3))) packages" ;; \
			Successfully*installed*) echo '   done' ;; \
			ERROR*) echo "$$line" ;; \
		esac; done; } \
		|| { tail -n 15 "$(VENV)/install.log" >&2; echo 'The installation failed; nothing else was run.' >&2; exit 1; }
	@echo '== compiling what numba compiles once (half a minute), and packing the script of the charts'
	@"$(BIN)/python" -c 'import umap; from helpers.display.kit import vega_bundle; vega_bundle()' >>"$(VENV)/install.log" 2>&1 || { tail -n 5 "$(VENV)/install.log" >&2; exit 1; }
	@touch "$(STAMP)"

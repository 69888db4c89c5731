# narabe: `make demo` trains and plays on a fresh machine, `make test` checks everything.
#
# Needs Python 3.11 or newer, a C compiler and make. Everything is installed into .venv and built
# into .build and engine/; a second run of any target installs and builds nothing again. Which build
# of PyTorch is installed (CPU or CUDA) is pip's choice from its own settings, for example
# `PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu make setup`.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
DEBUG := .build/debug-tree

export NARABE_NATIVE ?= 1

ENGINE_FILES := $(filter-out %.so,$(wildcard engine/*.*))
EXTENSION_SOURCES := $(filter %.pyx %.pxd %.h,$(ENGINE_FILES))
NOTEBOOKS := $(wildcard notebooks/*.ipynb)

.PHONY: help setup demo test lint bench clean
.DELETE_ON_ERROR:

help:
	@echo 'make demo    set up, then train Irensei on 9x9 for about ten minutes and play'
	@echo 'make test    set up, then run all tests, those of the engine with a checked build too'
	@echo 'make lint    set up, then run the checks of style, types and layers'
	@echo 'make bench   set up, then measure what rules, search, network and self-play cost'
	@echo 'make setup   make .venv, install the pinned packages, build the extensions'
	@echo 'make clean   remove what was built (keeps .venv and runs/)'

setup: .build/extensions

demo: setup
	$(BIN)/python -m scripts.demo

bench: setup $(VENV)/.bench
	$(BIN)/python -m scripts.bench

test: setup $(DEBUG)/extensions
	$(BIN)/python -m pytest -n auto -o pythonpath="$(DEBUG) ." tests/engine
	$(BIN)/python -m pytest

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	PATH="$(abspath $(BIN)):$$PATH" cython-lint engine
	$(BIN)/lint-imports --no-cache
	$(if $(NOTEBOOKS),$(BIN)/nbstripout --verify $(NOTEBOOKS))

clean:
	rm -rf .build build *.egg-info engine/*.so .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo 'narabe needs Python 3.11 or newer; set PYTHON=/path/to/it' >&2; exit 1; }
	@command -v $${CC:-cc} >/dev/null || { echo 'narabe needs a C compiler (gcc or clang)' >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# torch comes first and by its exact version: left to the resolver, it could be replaced by another build.
$(VENV)/.installed: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) install -q -c constraints.txt torch==2.13.0
	$(PIP) install -q -c constraints.txt setuptools cython
	$(PIP) install -q -c constraints.txt --no-build-isolation -e '.[train,web,dev]'
	touch $@

# What is compared with. Where it cannot be had, the table says so.
$(VENV)/.bench: $(VENV)/.installed
	$(PIP) install -q -c constraints.txt --no-build-isolation -e '.[bench]' || true
	touch $@

.build/extensions: setup.py $(EXTENSION_SOURCES) $(VENV)/.installed
	$(BIN)/python setup.py -q build_ext --inplace
	mkdir -p $(@D) && touch $@

# The checked build lies in a copy of engine/, so that the normal one stays as it is.
$(DEBUG)/extensions: setup.py $(ENGINE_FILES) $(VENV)/.installed
	mkdir -p $(DEBUG)/engine && rm -f $(DEBUG)/engine/*.py*
	cp -p setup.py $(DEBUG) && cp -p $(ENGINE_FILES) $(DEBUG)/engine
	cd $(DEBUG) && NARABE_DEBUG=1 $(abspath $(BIN))/python setup.py -q build_ext --inplace
	touch $@

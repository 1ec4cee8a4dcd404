# make demo   a sweep of a recorded site, and one explain
# make test   everything that CI checks
# make bench  speed, as ratios
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
# The folders of the packages lie at the root, which is what setuptools warns of in every editable installation.
PIP_INSTALL := PYTHONWARNINGS='ignore:Editable installation' $(BIN)/pip install -q --disable-pip-version-check
PACKAGES := engine collectors handoffs store reports cli

.PHONY: demo test lint typecheck imports unit deep bench clean
.DEFAULT_GOAL := test

demo: .venv/demo
	@$(BIN)/python demo/play.py

test: lint typecheck imports unit

lint: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# What is type-checked is what a user installs: a plain install, in a folder of its own.
typecheck: .venv/dev
	@rm -rf build/typed && mkdir -p build && cp pyproject.toml build/
	@$(BIN)/pip install -q --no-deps --target build/typed . >build/install.log 2>&1 || { cat build/install.log; exit 1; }
	cd build/typed && MYPYPATH=. ../../$(BIN)/mypy --config-file ../pyproject.toml --cache-dir ../mypy $(foreach p,$(PACKAGES),-p sweeprules.$(p))

imports: .venv/dev
	$(BIN)/lint-imports

unit: .venv/dev
	$(BIN)/python -m pytest $(PYTEST_ARGS)

deep: .venv/dev
	$(BIN)/python -m pytest -m deep $(PYTEST_ARGS)

bench: .venv/dev
	@$(PIP_INSTALL) -e '.[bench]'
	$(BIN)/python -m bench

.venv/bin/python:
	@test -n "$(PYTHON)" || { echo "sweeprules needs Python 3.11 or newer; none was found on PATH (set PYTHON=...)" >&2; exit 1; }
	@$(PYTHON) -m venv .venv || { echo "no venv module: on Debian, apt install python3-venv" >&2; rm -rf .venv; exit 1; }
	@$(BIN)/pip install -q --disable-pip-version-check -U 'pip>=24'

.venv/demo: pyproject.toml | .venv/bin/python
	@$(PIP_INSTALL) -e .
	@touch $@

.venv/dev: pyproject.toml | .venv/bin/python
	@$(PIP_INSTALL) -e '.[dev]'
	@touch $@ .venv/demo

clean:
	rm -rf .venv build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis

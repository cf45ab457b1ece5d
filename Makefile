# gviz: `make` alone lists the targets.

.DEFAULT_GOAL := help
.PHONY: help demo test test-plain test-torch test-tensorboard test-notebook test-page fuzz lint package gold docs site sheet bench clean

PYTHON ?= python3
TORCH_INDEX ?=
ARGS ?=
JOBS ?= auto
comma := ,

# Makes the virtual environment $(1) with `pip install $(2)` in it. It is made anew where it is stale: the folder has
# moved, Python has changed or is gone, or pyproject.toml asks for other things.
define environment
	@set -eu; \
	for python in '$(PYTHON)' python3 python3.14 python3.13 python3.12 python3.11 none; do \
	  "$$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && break; \
	done; \
	if [ "$$python" = none ]; then \
	  echo 'gviz needs Python 3.11 or later with venv (on Debian: the package python3-venv); make PYTHON=... names one' >&2; exit 1; \
	fi; \
	[ -w "$${HOME:-/nowhere}" ] || export PIP_NO_CACHE_DIR=1; \
	export PIP_DISABLE_PIP_VERSION_CHECK=1; \
	state="$$(pwd) $$("$$python" -VV | tr '\n' ' ') $(if $(filter -e,$(2)),$$(cksum < pyproject.toml))"; \
	if [ "$$(cat $(1)/.state 2>/dev/null)" != "$$state" ] || ! $(1)/bin/python -c 'import sys' 2>/dev/null; then \
	  rm -rf $(1); \
	  echo "making $(1) with $$("$$python" -V)"; \
	  "$$python" -m venv $(1); \
	  printf '%s' "$$state" > $(1)/.state; \
	fi; \
	done=$(1)/.has-$$(printf '%s' '$(2)' | cksum | sed 's/ .*//'); \
	if [ ! -e "$$done" ]; then \
	  echo 'installing $(2) into $(1)'; \
	  $(1)/bin/python -m pip install -qq $(2); \
	  : > "$$done"; \
	fi
endef

# Runs pytest on all cores: a process for each, whose arithmetic keeps to that core. Who is done early takes tests over from the others.
test test-plain test-torch fuzz: export OPENBLAS_NUM_THREADS = 1
test test-plain test-torch fuzz: export OMP_NUM_THREADS = 1
pytest = -m pytest --numprocesses=$(JOBS) --dist=worksteal

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1 /p' Makefile | awk '{ name = $$1; sub(/^[^ ]+ /, ""); printf "make %-16s %s\n", name, $$0 }'

demo: ## install gviz into .venv, draw into out/, print a table and the paths of the pictures
	$(call environment,.venv,-e .)
	@mkdir -p out
	@set -eux; for suffix in pdf svg; do \
	  .venv/bin/gviz render 'y=(x+w)*(w+1)' x=2 w=1 -o out/y.$$suffix; \
	  .venv/bin/gviz render samples/five_neurons.py -o out/five_neurons.$$suffix; \
	  .venv/bin/gviz render 'h=w*x+b' x=1 w=4 b=0.5 -o out/h.$$suffix; \
	done; \
	.venv/bin/gviz inspect 'y=(x+w)*(w+1)' x=2 w=1
	@echo; echo 'The pictures are here:'; ls "$$(pwd)"/out/*

test: ## install what tests need into .venv and run all tests on all cores (JOBS=1: on one); ARGS='-k name' for some
	$(call environment,.venv,-e .[test])
	@.venv/bin/python $(pytest) $(ARGS)

test-plain: ## run the engine's tests without its fast lane, gviz/engine/fast.py; ARGS='-k name' for some
	$(call environment,.venv,-e .[test])
	@GVIZ_FAST=0 .venv/bin/python $(pytest) tests/autograd tests/signatures tests/ops tests/engine $(ARGS)

test-torch: ## compare the engine with the real PyTorch, in .venv-parity; ARGS='-k name' for some
	$(call environment,.venv-parity,-e .[test] torch==2.13.0 torchviz==0.0.3 expecttest$(if $(TORCH_INDEX), --extra-index-url $(TORCH_INDEX)))
	@.venv-parity/bin/python -c 'import torch'
	@.venv-parity/bin/python $(pytest) -m torch $(ARGS)

test-tensorboard: ## show graphs in the real TensorBoard and read them back, in .venv-tensorboard
	$(call environment,.venv-tensorboard,-e .[test$(comma)tensorboard])
	@.venv-tensorboard/bin/python -c 'import tensorboard'
	@.venv-tensorboard/bin/python -m pytest -m tensorboard $(ARGS)

test-page: ## check the page with axe-core (fetched by npm), in Chromium and in Firefox if they are here
	npm install --no-save --no-package-lock --silent axe-core
	$(call environment,.venv,-e .[test])
	@.venv/bin/python -m pytest tests/render/test_page.py tests/render/test_page_steps.py tests/render/test_page_input.py $(ARGS)

test-notebook: ## try the magics in a real kernel, by nbconvert, in .venv-notebook
	$(call environment,.venv-notebook,-e .[test] ipykernel nbconvert)
	@.venv-notebook/bin/python -m pytest tests/test_magics.py $(ARGS)

fuzz: ## tests with input of chance, new and 40 times as much: some 10 minutes; ARGS='-k name' for some
	$(call environment,.venv,-e .[test])
	@GVIZ_FUZZ=$${GVIZ_FUZZ:-40} .venv/bin/python $(pytest) -m fuzz $(ARGS)

lint: ## ruff and mypy --strict
	$(call environment,.venv,-e .[dev])
	@.venv/bin/python -m ruff check .
	@.venv/bin/python -m ruff format --check .
	@.venv/bin/python -m mypy

package: ## build what PyPI takes into dist/, and check it
	$(call environment,.venv-package,build twine)
	@rm -rf dist
	@.venv-package/bin/python -m build --quiet
	@.venv-package/bin/python -m twine check --strict dist/*

gold: ## write the gold files anew, to be looked at and committed
	$(call environment,.venv,-e .[test])
	@GVIZ_GOLD=write .venv/bin/python -m pytest -q $(ARGS)
	@git status --short tests/gold

docs: ## write what the commands in README.md and docs/ print, and the pictures, anew, to be looked at and committed
	$(call environment,.venv,-e .[test])
	@GVIZ_GOLD=write .venv/bin/python -m pytest -q tests/test_readme.py tests/test_gallery.py tests/test_manpage.py
	@git status --short "*.md" docs samples

site: ## build the site into out/site, and try the directive of Sphinx
	$(call environment,.venv,-e .[test$(comma)docs])
	@rm -rf out/site
	@.venv/bin/python -m sphinx -q -W --keep-going -c docs/site -d out/doctrees . out/site
	@.venv/bin/python -m pytest -q tests/test_sphinx.py
	@echo "$$(pwd)/out/site/index.html"

sheet: ## draw the contact sheet in docs/ anew, to be looked at and committed
	$(call environment,.venv,-e .[test])
	@GVIZ_GOLD=write .venv/bin/python -m pytest -q tests/test_contact_sheet.py
	@git status --short docs

bench: ## measure gviz against torch + torchviz, in .venv and .venv-torch
	$(call environment,.venv,-e .)
	$(call environment,.venv-torch,torch==2.13.0 torchviz==0.0.3 pygraphviz$(if $(TORCH_INDEX), --extra-index-url $(TORCH_INDEX)))
	@.venv/bin/python benchmarks/run.py --torch .venv-torch/bin/python $(ARGS)

clean: ## remove everything that make has made
	@rm -rf .venv .venv-torch .venv-parity .venv-tensorboard .venv-notebook .venv-package out build dist tests/actual .mypy_cache .pytest_cache .ruff_cache .hypothesis gviz.egg-info
	@find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +

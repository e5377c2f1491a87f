# Commands for a fresh machine:
#   make demo     measures every benchmark on 2 ranks in host memory, draws what was measured, and writes a report
#   make test     runs the tests; CONTRIBUTING.md has those that take more packages
#   make site     makes build/site/index.html, the documentation
#   make archive  makes dist/commlens-VERSION-offline.tar.gz, which is installed without a network
# Each sets the machine up (tools/setup) and builds; a second call does only what has changed since.
MAKEFLAGS += --no-print-directory
export VIRTUAL_ENV := $(CURDIR)/.venv
export PATH := $(VIRTUAL_ENV)/bin:$(PATH)
export CMAKE_GENERATOR ?= Ninja
# The wheel and build/host compile the same sources. ccache sees that only where both call the compiler by the same name:
# without CXX, one takes c++, and the other what Python was built with.
export CMAKE_CXX_COMPILER_LAUNCHER ?= $(shell command -v ccache)
ifeq ($(origin CXX),default)
  CXX := c++
endif
ifeq ($(origin CC),default)
  CC := cc
endif
export CC CXX

native_sources := CMakeLists.txt CMakePresets.json docs/record.schema.json docs/profile.schema.json $(shell find cmake src -type f)
python_sources := pyproject.toml $(wildcard README.md) $(shell find python -type f ! -name '*.pyc')
test_sources := $(shell find tests -type f ! -name '*.py' ! -name '*.pyc')

.PHONY: help demo test site archive FORCE
help:
	@sed -n 's/^#   //p' Makefile

demo: .venv/installed
	@tools/step "measuring" "Every record so far is kept in results/." \
	  commlens run quick --ranks 2 --memory host --out $(CURDIR)/results
	@tools/step "writing a report of it" "Free the place, and run commlens report on the newest folder in results/." \
	  sh -c 'commlens report "$$(ls -dt "$(CURDIR)"/results/quick-*/ | head -n 1)" --out "$(CURDIR)/results/report.html"'

test: .venv/installed build/host/built
	@tools/run-tests

site: .venv/machine
	@tools/step "building the documentation" "Fix the links that mkdocs names." python tools/docs_site.py

archive: .venv/installed
	@tools/step "making the release archive" "It takes the libraries and Python packages from the network." \
	  python tools/release_archive.py

.venv/machine: FORCE
	@tools/setup

.venv/installed: .venv/machine $(native_sources) $(python_sources)
	@. .venv/machine && tools/step "installing commlens into .venv (builds the native program)" \
	  "Fix what the compiler says, or name another one in CXX." \
	  python -m pip install --quiet --no-input --disable-pip-version-check \
	  --config-settings=cmake.define.COMMLENS_GPU=$$gpu '.[dev]'
	@touch $@

build/host/built: .venv/machine $(native_sources) $(test_sources)
	@tools/step "configuring the tests" "Fix what CMake says, or remove build/host and run make again." cmake --preset host
	@tools/step "building the tests" "Fix what the compiler says, or name another one in CXX." cmake --build --preset host
	@touch $@

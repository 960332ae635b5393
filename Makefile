# Two commands are enough on a fresh machine: `make reproduce` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: reproduce test test-random test-slow hunt napari test-napari test-wheel test-lowest mutate lint bench docs wheel kernel screenshots clean

$(VENV)/.core: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) -e '.[all]'
	touch $@

$(VENV)/.dev: $(VENV)/.core
	$(PIP) -e '.[dev]'
	touch $@

# The full test of the paper, 50 images at each of 17 angles.
reproduce: $(VENV)/.core
	$(BIN)/whorl reproduce --images 50

# Style, types and every test but the slow ones, in two processes. Each has one thread, and tests of threads take more:
# with two threads each they would wait for each other, which takes a third of the time.
PYTEST := $(BIN)/python -m pytest
IN_TWO := OMP_NUM_THREADS=1 $(PYTEST) -n 2 --dist loadgroup --no-loadscope-reorder
test: lint
	$(IN_TWO)

# The same tests in random order; `SEED=...` repeats one.
SEED ?= 20220131
test-random: $(VENV)/.dev
	$(IN_TWO) -p randomly --randomly-seed $(SEED)

# What `make test` leaves out: long runs, such as training killed ten times and the full test of the shipped networks;
# and the hunt for faults over fresh random models, pictures, volumes and damaged files.
test-slow: $(VENV)/.dev hunt
	$(PYTEST) -m slow

# So many random cases in each property test, and a tenth in those that take many steps for a case. It says how far it
# is. `HUNT="-k turns --hypothesis-seed 3"` for a part, or to repeat it.
CASES ?= 500
hunt: $(VENV)/.dev
	HYPOTHESIS_PROFILE=long HYPOTHESIS_CASES=$(CASES) $(PYTEST) --timeout 14400 tests/properties $(HUNT)

# The plugin's tests with napari and Qt, without a screen; `make test` skips those of widgets. napari gets an environment
# beside .venv, which lends it what is installed there, so that nothing of it can change how the other tests run.
napari: $(VENV)-napari/.installed
$(VENV)-napari/.installed: $(VENV)/.dev
	rm -rf $(VENV)-napari
	$(PYTHON) -m venv $(VENV)-napari
	SITE=`$(BIN)/python -c "import sysconfig; print(sysconfig.get_path('purelib'))"`; \
	echo "import site; site.addsitedir('$$SITE')" > `ls -d $(VENV)-napari/lib/python*/site-packages`/beside.pth
	$(VENV)-napari/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[napari]'
	touch $@
test-napari: $(VENV)-napari/.installed
	QT_QPA_PLATFORM=offscreen OMP_NUM_THREADS=1 $(VENV)-napari/bin/python -m pytest tests/plugin

# Deliberate faults in each folder, and whether the tests notice them; which faults and tests: mutation/plans.py. For
# example `make mutate WORDS="schemes energies"` or `make mutate WORDS="engines --sample 30 --write"`. With
# `--record FILE` an interrupted run goes on where it stopped; with `--near` the nearest tests are tried at once, and no
# test runs ahead. Results: mutation/results.md.
mutate: $(VENV)/.dev
	$(BIN)/python -m mutation.mutate $(WORDS)

# The page's WebAssembly kernel is committed; rebuild it after a change in web/kernel or in the formulas that it takes
# from the library (needs clang and lld).
kernel: $(VENV)/.core
	$(BIN)/python -m whorl.page.kernel
	web/build.sh

# Take the documentation's pictures of the page anew (needs Chromium and node).
screenshots: $(VENV)/.dev
	WHORL_BROWSER_REQUIRED=1 WHORL_SCREENSHOTS=docs/images $(PYTEST) tests/page/test_looks.py -k screenshots

PYTHON_FOLDERS := src tests mutation benchmarks experiments docs distribution
lint: $(VENV)/.dev
	$(BIN)/ruff check $(PYTHON_FOLDERS)
	$(BIN)/ruff format --check $(PYTHON_FOLDERS)
	$(BIN)/mypy

$(VENV)/.bench: $(VENV)/.core
	$(PIP) -e '.[bench]'
	touch $@

RESULTS ?= build/bench
bench: $(VENV)/.bench
	$(BIN)/python -W ignore -m benchmarks --again --out $(RESULTS)
	$(BIN)/python -m benchmarks.targets --results $(RESULTS)

$(VENV)/.docs: $(VENV)/.core
	$(PIP) -e '.[docs]'
	touch $@

# Warnings are errors; the gallery's scripts are run. Open docs/_build/html/index.html.
docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

# The distribution for other machines, without its dependencies.
wheel: $(VENV)/.core
	rm -rf dist
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .

# The wheel in empty environments, without extras and with each; results in distribution/wheel.md. Minutes, and gigabytes.
test-wheel: wheel
	$(BIN)/python -m distribution.wheel --write dist/*.whl

# The oldest versions that pyproject.toml claims, then the newest; results in distribution/lowest.md. Minutes.
test-lowest: $(VENV)/.core
	$(BIN)/python -m distribution.lowest --write

clean:
	rm -rf $(VENV) $(VENV)-napari build dist reproduction docs/_build docs/gallery

# The whole interface to a checkout; `make` without a target lists it. Generated files go to build/.
# Exceptions, which are under version control: what `make docs`, `events` and `fixtures` write, and
# the pages of the suites in fixtures/experiments/suites.toml.

PYTHON ?= python3
PYTEST_ARGS ?=
# A guest keeps one CPU and 2-6 GiB busy: as many at once as there are CPUs, never over four.
TOGETHER := -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder
# `make test PYTEST_ARGS='-k journal'` goes on where a part of it has no such test.
NONE_CHOSEN := $(if $(PYTEST_ARGS),|| test $$? -eq 5)
CASES_OPTIONS ?=
FUZZ_CASES ?=
FUZZ_SEED ?=
BIN := .venv/bin
SCENARIO := wal-vs-checkpoint
# Benchmarks that need a booted kernel: scenarios that leave NAME.json in $RCP_LAB_OUT.
LAB_BENCHES := ring-drain probe-cost recording-cost

# $(call recorded,RUN,NAME): record one run of the scenario anew as fixtures/recordings/NAME.
define recorded
	@$(BIN)/rcp-lab run --timing --out build/recording-$(1) -e RUNS=$(1) \
		-e REQUESTS=4000 -e PRESET=null_blk $(SCENARIO)
	@$(BIN)/python -c 'import sys, pathlib; from rcp.probes.contract.spool import pack; \
		pack(*map(pathlib.Path, sys.argv[1:]))' build/recording-$(1)/$(1).spool \
		fixtures/recordings/$(2).spool.tar.xz
endef

# A heavy suite records its run (date, result, hashes of its inputs) for `make stale`. One of several
# steps has a target for them, so that the inputs are those of its beginning.
SUITES := $(BIN)/python -m rcp.fixtures.experiments.suites
PARTIAL = $(if $(PYTEST_ARGS)$(CASES)$(CASES_OPTIONS),--partial)

# $(call page,SUITE,PAGE,COMMAND): run a suite whose output is the page docs/results/PAGE.md.
page = $(SUITES) run $(1) -- sh -c '$(3) > build/$(2).md && mv build/$(2).md docs/results/$(2).md \
	&& echo page written'

.DEFAULT_GOAL := help
.PHONY: help setup update documented-guest demo explore screenshots planted counterfactual test test-fast test-ui test-lab test-shifts test-wheel test-tutorial test-heavy test-kernel test-kernel-smoke test-kernel-debug test-kernel-files test-bare lint format \
	typecheck fuzz bench costs cases stale kernel policies log-writers ablation policy-cost rcpdisk searches tune-bench tune-seeds gate-bench fleet-bench soak planted-steps fuzz-steps counterfactual-steps test-kernel-debug-steps rcpdisk-steps bench-steps costs-steps docs events fixtures clean

help: ## list the targets
	@echo "make demo and make test need nothing else first; the rest is for working on rcp."
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: .venv/.installed ## install what rcp needs: Debian packages, then .venv

build/.system-packages: .ci/system-packages
	@.ci/system-packages
	@mkdir -p $(@D) && touch $@

# systemd, for systemd-analyze: a container has none
build/.browser: .ci/system-packages
	@.ci/system-packages chromium fonts-dejavu-core systemd
	@mkdir -p $(@D) && touch $@

build/.prometheus: .ci/prometheus | build/.system-packages
	@.ci/prometheus build/prometheus
	@touch $@

# With the newest packages that the tests passed with: a release must not turn an unchanged tree red.
CONSTRAINTS := .ci/constraints.txt
PIP_OPTIONS := --quiet --disable-pip-version-check -c $(CONSTRAINTS)

.venv/.installed: setup.cfg pyproject.toml $(CONSTRAINTS) | build/.system-packages
	@echo "==> making .venv with pip, usually about a minute"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/pip install $(PIP_OPTIONS) -e '.[dev,ui]'
	@touch $@

update: ## choose the newest Python packages for `make setup`; then run `make test`
	@echo "==> resolving in a fresh environment, usually a minute or two"
	@rm -rf build/update && $(PYTHON) -m venv build/update
	@build/update/bin/pip install --quiet --disable-pip-version-check -e '.[dev,ui]'
	@{ sed -n '/^#/p' $(CONSTRAINTS); build/update/bin/pip freeze --exclude-editable; } > build/constraints
	@mv build/constraints $(CONSTRAINTS)

documented-guest: setup ## note the lab's guest as the one that figures in docs are made with
	@image=$$($(BIN)/rcp-lab setup | sed -n 's/^rootfs //p') && \
		{ sed -n '/^#/p' fixtures/guest.toml; echo '[packages]'; \
		sed 's/^\(.*\) \(.*\)$$/"\1" = "\2"/' "$$(dirname "$$image")/packages.txt"; } > build/guest.toml
	@mv build/guest.toml fixtures/guest.toml

# The demo needs neither the judges (dev) nor the explorer: a minute of installing less.
.venv/.demo: setup.cfg pyproject.toml $(CONSTRAINTS) | build/.system-packages
	@echo "==> making .venv with pip, usually half a minute"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@test -e .venv/.installed || $(BIN)/pip install $(PIP_OPTIONS) -e .
	@touch $@

demo: .venv/.demo ## boot the lab, record a slow fsync, say what was in its way
	@echo "==> the lab's machine: a Debian guest, usually 2-4 minutes, then cached"
	@$(BIN)/rcp-lab setup
	@echo "==> recording $(SCENARIO) on a simulated SSD (rcpdisk) in virtual time, usually 3-4" \
		"minutes; the first time 2 more, to build the disk's driver"
	@rm -rf build/demo
	@$(BIN)/rcp-lab run --timing --out build/demo $(SCENARIO)
	@echo "==> loading the recording into DuckDB, usually a few seconds"
	@$(BIN)/rcp-trace recover build/demo/with-background.spool \
		-o build/demo/$(SCENARIO).duckdb --force
	@echo "==> the report; yours to query in build/demo/$(SCENARIO).duckdb"
	@$(BIN)/rcp-trace report build/demo/$(SCENARIO).duckdb

explore: setup ## look at the checked-in recording in the browser, until Ctrl-C
	@$(BIN)/rcp-trace explore

screenshots: setup build/.browser ## pictures of the explorer's screens, as docs/ui/*.png
	@echo "==> drawing every screen, light and dark, usually half a minute"
	@$(BIN)/python -m rcp.ui.screenshots docs/ui

planted: setup ## record planted inversions, print precision and recall by kind
	@$(SUITES) run planted -- $(MAKE) --no-print-directory planted-steps

planted-steps:
	@echo "==> playing and recording the plants in the lab, usually about 6 minutes"
	@$(BIN)/rcp-lab run --timing --out build/planted planted
	@echo "==> loading the recording into DuckDB, usually a few seconds"
	@$(BIN)/rcp-trace recover build/planted/planted.spool -o build/planted/planted.duckdb --force
	@$(BIN)/python -m rcp.fixtures.experiments.planted_score \
		build/planted/planted.duckdb build/planted/plants.json

SEED ?= 1
NUMBER ?= 80

counterfactual: setup ## play generated scenarios with and without background work, compare
	@$(SUITES) run counterfactual -- $(MAKE) --no-print-directory counterfactual-steps \
		SEED=$(SEED) NUMBER=$(NUMBER)

counterfactual-steps:
	@echo "==> playing $(NUMBER) scenarios of seed $(SEED) in the lab, twice, usually 15 minutes"
	@$(BIN)/rcp-lab run --timing --out build/counterfactual -e SEED=$(SEED) -e NUMBER=$(NUMBER) \
		counterfactual
	@$(BIN)/python -m rcp.fixtures.experiments.truth.score build/counterfactual \
		--seed $(SEED) --number $(NUMBER) --page docs/results/truth.md

# What fails soonest comes first.
test: lint typecheck ## everything: lint, types, tests that boot nothing, of the wheel, of the lab
	@$(MAKE) --no-print-directory test-fast
	@$(MAKE) --no-print-directory test-lab BOOTING='lab or wheel'

# These wait a fifth of their time, for disks and clocks: three processes keep two CPUs busy.
test-fast: export PYTEST_XDIST_AUTO_NUM_WORKERS = $(shell expr $$(nproc) + $$(nproc) / 2)
test-fast: setup build/.browser build/.prometheus ## the tests that boot nothing: 10-17 minutes on two CPUs
	@echo "==> the tests that boot nothing, usually 10-17 minutes on two CPUs"
	@$(BIN)/pytest -ra --durations 12 -m 'not lab and not heavy and not kernel and not wheel' \
		$(TOGETHER) $(PYTEST_ARGS) $(NONE_CHOSEN)

test-ui: setup build/.browser ## only the explorer's tests, in a browser too: a minute or two
	@$(BIN)/pytest -ra ui $(TOGETHER) $(PYTEST_ARGS)

# `make test` also runs those of the wheel here: one after the other, they keep only one CPU busy.
BOOTING := lab and not wheel
IN_THE_LAB := -ra --durations 12 -m '($(BOOTING)) and not heavy and not kernel' $(TOGETHER)

test-lab: setup ## only the tests that boot the lab
	@$(BIN)/rcp-lab setup
	@echo "==> the tests that boot the lab, usually 15-20 minutes"
	@$(BIN)/python .ci/lab_tests.py $(IN_THE_LAB) $(PYTEST_ARGS) $(NONE_CHOSEN)

test-shifts: setup ## the lab's tests under five interleavings: docs/results/shifts.md
	@echo "==> the tests that boot the lab, five times, usually 25 minutes each"
	@$(SUITES) run test-shifts $(PARTIAL) -- $(BIN)/python .ci/shifts.py \
		$(if $(PYTEST_ARGS),build,docs/results)/shifts.md $(IN_THE_LAB) $(PYTEST_ARGS)

test-wheel: setup ## every command from a built wheel in an empty environment: some minutes
	@echo "==> building the wheel, installing it, and typing every command, usually 5 minutes"
	@RCP_REQUIRE=1 $(BIN)/pytest -ra --durations 5 -m wheel .ci/tests/test_wheel.py $(PYTEST_ARGS) \
		$(NONE_CHOSEN)

test-heavy: setup ## the lab tests that take longest: ways of recording, PostgreSQL
	@$(SUITES) run test-heavy $(PARTIAL) -- $(BIN)/pytest -ra -m heavy $(TOGETHER) $(PYTEST_ARGS)

kernel: setup ## build the patched kernel: 15 minutes the first time, then cached
	@$(BIN)/rcp-lab build --kernel rcp

test-kernel: kernel ## build the patched kernels and test them: patches, KUnit, scenarios
	@$(BIN)/rcp-lab build --kernel upstream
	@echo "==> tests on the patched kernel, usually some minutes"
	@RCP_REQUIRE=1 $(SUITES) run test-kernel $(PARTIAL) -- $(BIN)/pytest -ra -m kernel $(TOGETHER) $(PYTEST_ARGS)

test-kernel-smoke: kernel ## the few of these that CI runs: unit tests, and the latency gate
	@echo "==> smoke tests on the patched kernel, usually 5 minutes"
	@RCP_REQUIRE=1 $(BIN)/pytest -ra -m smoke $(TOGETHER) $(PYTEST_ARGS)

test-kernel-debug: setup ## the block tests under lockdep and KASAN, and under KCSAN
	@$(SUITES) run test-kernel-debug -- $(MAKE) --no-print-directory test-kernel-debug-steps

RACING = t08_marks t09_turmoil t10_flushes t21_loans t22_torture t23_files t32_locks \
	t45_discarded_buffers t47_trees

test-kernel-debug-steps:
	@$(BIN)/rcp-lab build --kernel rcp --debug
	@echo "==> block tests on the debug kernel in virtual time, more than 2 hours"
	@$(BIN)/rcp-lab run --timing --kernel rcp-debug --timeout 7200 -e TEST_TIMEOUT_S=3600 \
		-e SLOWER=20 blocktests
	@echo "==> those where CPUs race, on two CPUs in real time, usually 5-10 minutes"
	@$(BIN)/rcp-lab run --functional --kernel rcp-debug \
		--timeout 3600 -e TEST_TIMEOUT_S=1500 -e SLOWER=20 -e 'TESTS=$(RACING)' blocktests
	@$(BIN)/rcp-lab build --kernel rcp --debug=kcsan
	@echo "==> the same on a kernel that reports data races, usually 5 minutes"
	@$(BIN)/rcp-lab run --functional --kernel rcp-kcsan \
		--timeout 3600 -e TEST_TIMEOUT_S=1500 -e SLOWER=20 -e 'TESTS=$(RACING)' blocktests

test-kernel-files: kernel ## play with files and trees for minutes while rcp's profiles change
	@echo "==> files and trees on ext4, half of the players critical, usually 6 minutes"
	@$(BIN)/rcp-lab run --functional --kernel rcp --timeout 1800 -e TEST_TIMEOUT_S=900 \
		-e PLAY_S=120 -e 'TESTS=t23_files t47_trees' blocktests

policies: kernel ## compare I/O policies on the patched kernel: docs/results/policies.md
	@echo "==> policies in the lab, usually 30-60 minutes"
	@$(SUITES) run policies -- $(BIN)/python -m rcp.fixtures.experiments.policies.run policies \
		--document docs/results/policies.md

log-writers: kernel ## fsyncs under each I/O policy in scaled time: docs/results/log-writers.md
	@$(BIN)/rcp-lab build --kernel upstream
	@echo "==> log writers in the lab, usually 90 minutes"
	@$(SUITES) run log-writers -- $(BIN)/python -m rcp.fixtures.experiments.policies.run log-writers \
		--document docs/results/log-writers.md

ablation: kernel ## what each mechanism of inheritance is worth: docs/results/ablation.md
	@echo "==> planted inversions in the lab, each under every column, usually 20-40 minutes"
	@$(SUITES) run ablation -- $(BIN)/python -m rcp.fixtures.experiments.ablation.page \
		--document docs/results/ablation.md

policy-cost: kernel ## what the patches cost in instructions: docs/results/policy-cost.md
	@$(BIN)/rcp-lab build --kernel plain
	@echo "==> reads and writes on both kernels in the lab, usually 5 minutes"
	@$(call page,policy-cost,policy-cost,$(BIN)/python -m rcp.fixtures.experiments.policy_cost)

tune-bench: kernel searches ## tune scenarios in the lab on both kernels: docs/results/tuning.md
	@echo "==> tunings in the lab, usually 20-40 minutes each; an interrupted one goes on"
	@$(SUITES) run tune-bench -- $(BIN)/python -m rcp.fixtures.experiments.tune_bench \
		--document docs/results/tuning.md

tune-seeds: kernel ## the tuner's searches live, three seeds and two scenarios: docs/results/searches-live.md
	@echo "==> eighteen tunings in the lab, usually 10-15 minutes each; an interrupted one goes on"
	@$(SUITES) run tune-seeds -- $(BIN)/python -m rcp.fixtures.experiments.tune_seeds \
		--document docs/results/searches-live.md

searches: setup ## the tuner's searches side by side on a table of trials, as docs/results/searches.md
	@echo "==> replaying searches, usually 5-10 minutes"
	@mkdir -p build docs/results
	@$(call page,searches,searches,$(BIN)/python -m rcp.tuner.bench.searches)
	@head -n 40 docs/results/searches.md

gate-bench: setup ## how often the gate and its peers are wrong: docs/results/gate.md
	@echo "==> simulating runs, usually 10-20 minutes"
	@mkdir -p build docs/results
	@$(call page,gate-bench,gate,$(BIN)/python -m rcp.analyzer.gate.bench.rates \
		$(if $(OTAVA),--otava $(OTAVA)))
	@head -n 30 docs/results/gate.md

fleet-bench: setup ## merge a day of 10,000 hosts' summaries: docs/results/fleet.md
	@echo "==> making the summaries, usually 3-5 minutes, then merging them"
	@mkdir -p build docs/results
	@$(call page,fleet-bench,fleet,$(BIN)/python -m rcp.analyzer.bench.fleet)
	@head -n 30 docs/results/fleet.md

HOURS ?= 0.2
soak: setup ## let an agent live for HOURS of virtual time: docs/results/soak.md
	@echo "==> an agent beside fsyncs in the lab, usually 10 minutes (HOURS=24: hours)"
	@mkdir -p docs/results
	@$(SUITES) run soak -- $(BIN)/python -m rcp.fixtures.experiments.soak --hours $(HOURS) \
		--document docs/results/soak.md

rcpdisk: setup ## the simulated disk beside the papers' figures, as docs/results/rcpdisk.md
	@$(SUITES) run rcpdisk -- $(MAKE) --no-print-directory rcpdisk-steps

rcpdisk-steps:
	@echo "==> fio on rcpdisk in the lab, usually 2-3 minutes"
	@$(BIN)/rcp-lab run --timing --out build/rcpdisk-model rcpdisk-model
	@echo "==> the model alone, in a program of this host, usually some seconds"
	@$(BIN)/python -m rcp.lab.kunit > build/rcpdisk-model/model.txt
	@$(BIN)/python -m rcp.fixtures.experiments.rcpdisk_model build/rcpdisk-model > build/rcpdisk.md
	@mkdir -p docs/results && mv build/rcpdisk.md docs/results/rcpdisk.md
	@head -n 40 docs/results/rcpdisk.md

test-bare: ## prove `make demo` and `make test` in a fresh Debian 12 (as root)
	@.ci/test-bare

test-tutorial: setup ## follow docs/tutorial.md in a fresh Debian 13 (as root)
	@.ci/system-packages mmdebstrap
	@echo "==> every command of the tutorial in a bare Debian 13, usually 20-30 minutes"
	@$(SUITES) run tutorial -- $(BIN)/python -m rcp.fixtures.experiments.tutorial

lint: setup ## ruff, shellcheck, clang-format, and the house rules
	@.ci/lint

format: setup ## rewrite Python and BPF C in the house style
	@.ci/format

# mypy does not follow an editable install, hence a tree of links which looks like the package.
typecheck: setup ## mypy, strict
	@rm -rf build/typecheck && mkdir -p build/typecheck/rcp
	@for folder in probes analyzer tuner ui fixtures kernel-patch/lab kernel-patch/mark; do \
		ln -s "$(CURDIR)/$$folder" build/typecheck/rcp/; done
	@ln -s "$(CURDIR)/conftest.py" build/typecheck/
	@ln -s "$(CURDIR)/.ci/tests" build/typecheck/ci_tests
	@MYPYPATH=build/typecheck $(BIN)/mypy -p rcp -m conftest -p ci_tests

FUZZ_OPTIONS = $(if $(FUZZ_CASES),--cases $(FUZZ_CASES)) $(if $(FUZZ_SEED),--seed $(FUZZ_SEED))

fuzz: setup ## damage 2000 recordings and 20,000 files of latencies, read them: FUZZ_CASES, FUZZ_SEED
	@$(SUITES) run fuzz $(if $(FUZZ_CASES)$(FUZZ_SEED),--partial) -- \
		$(MAKE) --no-print-directory fuzz-steps FUZZ_CASES=$(FUZZ_CASES) FUZZ_SEED=$(FUZZ_SEED)

fuzz-steps:
	@echo "==> reading damaged recordings, usually 5-10 minutes"
	@$(BIN)/python -m rcp.fixtures.experiments.fuzz $(FUZZ_OPTIONS)
	@echo "==> reading damaged files of latencies, usually 3-6 minutes"
	@$(BIN)/python -m rcp.analyzer.latencies.tests.fuzz $(FUZZ_OPTIONS)

bench: setup ## what recording and analysing cost, as build/bench/*.json
	@$(SUITES) run recording-cost -- $(MAKE) --no-print-directory bench-steps

bench-steps:
	@mkdir -p build/bench
	@echo "==> analysis, usually about a minute"
	@$(BIN)/python -m rcp.analyzer.bench.analysis --json > build/bench/analyzer.json
	@echo "==> exporting, and Perfetto's critical path beside ours, usually about a minute"
	@$(BIN)/python -m rcp.analyzer.bench.export --json > build/bench/export.json
	@echo "==> reading 100 MB of latencies in each format, usually 2-4 minutes"
	@$(BIN)/python -m rcp.analyzer.bench.latencies --json > build/bench/latencies.json
	@echo "==> a scrape of the agent's metrics, usually some seconds"
	@$(BIN)/python -m rcp.probes.bench.scrape --json > build/bench/scrape.json
	@echo "==> how soon each command answers, usually half a minute"
	@$(BIN)/python -m rcp.analyzer.bench.startup --json > build/bench/startup.json
	@echo "==> the explorer on a million requests, usually 3-5 minutes"
	@.ci/system-packages chromium fonts-dejavu-core
	@$(BIN)/python -m rcp.ui.bench --json > build/bench/ui.json
	@for bench in $(LAB_BENCHES); do \
		echo "==> $$bench in the lab, usually some minutes"; \
		$(BIN)/rcp-lab run --timing --out build/lab/$$bench $$bench && \
		cp build/lab/$$bench/$$bench.json build/bench/ || exit; done
	@mkdir -p docs/results && cp build/lab/recording-cost/recording-cost.md docs/results/
	@head -n 100 build/bench/*.json

costs: setup ## measure what each BPF program costs: docs/probe-costs.md
	@$(SUITES) run costs -- $(MAKE) --no-print-directory costs-steps

costs-steps:
	@echo "==> two workloads in the lab, usually 6 minutes"
	@$(BIN)/rcp-lab run --timing --out build/lab/probe-cost probe-cost
	@cp build/lab/probe-cost/probe-cost.md docs/probe-costs.md

cases: setup ## real databases in the lab, each against its own counters
	@echo "==> databases in the lab, usually 3-5 minutes each"
	@$(SUITES) run cases $(PARTIAL) -- $(BIN)/python -m rcp.fixtures.experiments.cases \
		$(CASES_OPTIONS) $(CASES)

stale: setup ## heavy suites and pages whose inputs changed since they were last run
	@$(SUITES) stale

docs: setup ## regenerate docs/SCHEMA.md, the manual pages in docs/man, the table of formats
	@.ci/docs

events: setup ## regenerate probes/bpf/events.h from probes/contract/events.py
	@mkdir -p build
	@$(BIN)/python -c 'from rcp.probes.contract.c_header import c_header; print(c_header(), end="")' \
		> build/events.h && mv build/events.h probes/bpf/events.h

fixtures: events ## record fixtures/recordings anew
	$(call recorded,with-background,$(SCENARIO))
	$(call recorded,without-background,wal-alone)

clean: ## remove build/, caches and .venv (the lab's cache outside the checkout stays)
	rm -rf build dist .venv *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +

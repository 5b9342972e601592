# SPDX-License-Identifier: Apache-2.0
#
# Headway's top-level Makefile: Kbuild builds the kernel modules, CMake the
# rest.  `make help` lists what there is to do.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-print-directory

# As a number of processors; a guest machine under test wants one for itself.
JOBS ?= $(shell nproc)
# Kernels that Headway is built and tested for; tests/vm/kernels resolves them.
KERNELS ?= stable newest newest-rt
BUILD := $(CURDIR)/build

# A kernel's release is known once it has been fetched; so releases are read late.
releases = $(foreach k,$(KERNELS),$(shell tests/vm/kernels $(k)))

.PHONY: help
help: ## show this list
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## /{printf "  make %-16s %s\n", $$1, $$2}' Makefile

.NOTPARALLEL:

.PHONY: packages
packages: ## install the Debian packages of packages.txt that are missing (root)
	@tests/lib/install-packages packages.txt

.PHONY: packages-doctor
packages-doctor: ## install the few Debian packages that `make doctor` needs (root)
	@tests/lib/install-packages packages-doctor.txt

.PHONY: doctor
doctor: ## build headway doctor alone, build/doctor/bin/headway, in less than a minute
	@cmake -G Ninja -S packaging/doctor -B $(BUILD)/doctor -DCMAKE_BUILD_TYPE=MinSizeRel >$(BUILD).cmake.log 2>&1 || \
		{ cat $(BUILD).cmake.log; exit 1; }
	@mv $(BUILD).cmake.log $(BUILD)/doctor/cmake.log
	@cmake --build $(BUILD)/doctor -j $(JOBS)

.PHONY: build
build: modules programs ## build what is installed, and the test modules, into build/{bin,lib,kmod}

.PHONY: modules
modules: kernels ## build sch_gap.ko and the test modules for every kernel of KERNELS
	@$(foreach r,$(releases), \
		tests/lib/build-module $(r) kmod sch_gap && \
		tests/lib/build-module $(r) tests/vm/faster faster && \
		tests/lib/build-module $(r) tests/vm/awake awake && \
		tests/lib/build-module $(r) tests/simwire simwire &&) true

.PHONY: programs
programs: configured ## build all programs and libraries that are installed
	@cmake --build $(BUILD)/cmake -j $(JOBS) --target installed

.PHONY: tests
tests: modules configured ## build what tests and benches need, too
	@cmake --build $(BUILD)/cmake -j $(JOBS)

.PHONY: configured
configured:
	@grep -qs '^CMAKE_GENERATOR:INTERNAL=Ninja$$' $(BUILD)/cmake/CMakeCache.txt || rm -rf $(BUILD)/cmake
	@cmake -G Ninja -S . -B $(BUILD)/cmake -DCMAKE_BUILD_TYPE=RelWithDebInfo >$(BUILD).cmake.log 2>&1 || \
		{ cat $(BUILD).cmake.log; exit 1; }
	@mkdir -p $(BUILD) && mv $(BUILD).cmake.log $(BUILD)/cmake.log

.PHONY: kernels
kernels: ## download and unpack the test kernels below build/ (nothing is installed)
	@$(foreach k,$(KERNELS),tests/vm/fetch-kernel $(k) &&) true

# The demo runs one kernel and few programs: no more than these are built for it.
.PHONY: demo-build
demo-build: KERNELS := stable
demo-build: packages
	@tests/lib/building.py $(KERNELS:%=kernel:%) demo_programs

.PHONY: demo
demo: demo-build ## an MPI all-to-all, without and with Headway
	@tests/demo/demo --fresh

.PHONY: demo-full
demo-full: demo-build ## every scene, contender and size; goes on where it was interrupted (hours)
	@tests/demo/demo --full

# make check SUITES="tc daemon": these alone, and nothing is built that they do not need.
.PHONY: check
check: packages ## run the suites of tests, or those of SUITES (tests/README.md)
	@tests/check $(SUITES)

.PHONY: check-all
check-all: packages ## every test there is, in sittings: all kernels, fuzzing, Slurm, packages, ... (hours)
	@tests/check --part all

.PHONY: check-systems
check-systems: packages ## each release of Debian with each of its kernels; writes Documentation/systems.rst (hours)
	@status=0; tests/check --part systems || status=1; tests/systems/table Documentation/systems.rst && exit $$status

check-%: packages
	@tests/check --part $*

.PHONY: bench-qdisc
bench-qdisc: packages tests ## instructions per packet of gap and other qdiscs, and how exactly they pace
	@$(foreach r,$(releases),tests/lib/build-module $(r) tests/bench/qdisc_bench qdisc_bench &&) true
	@tests/bench/qdisc

.PHONY: bench-phase
bench-phase: packages tests ## what a change of the rate costs: by a store, by requests, by tc
	@tests/bench/phase

.PHONY: bench-mpi
bench-mpi: packages tests ## patterns of real MPI jobs, stock and with Headway (long)
	@tests/bench/patterns

.PHONY: bench-scale
bench-scale: packages tests ## all-to-alls of 64 to 1024 ranks: requests, connections, memory, times
	@tests/bench/scale

.PHONY: bench-decisions
bench-decisions: packages tests ## plans from headway measure beside all others that could have been made (long)
	@tests/bench/decisions

.PHONY: bench-measure
bench-measure: packages tests ## headway measure, its predictions and plans in known networks; goes on where it was interrupted (long)
	@tests/measure/networks

.PHONY: bench-feedback
bench-feedback: packages tests ## all-to-alls with a headway.toml that promises too much, with feedback and without (long)
	@tests/bench/feedback

.PHONY: bench-apps
bench-apps: packages ## programs over a LAN and over up to 10 ms, Headway and others; goes on where it was interrupted (hours)
	@tests/lib/install-packages packages-bench.txt
	@$(MAKE) tests
	@tests/bench/apps

.PHONY: bench-map
bench-map: packages tests ## where Headway helps: 240 scenes, Headway and others; goes on where it was interrupted (hours)
	@tests/bench/map

.PHONY: npb
npb: packages ## build the NAS Parallel Benchmarks of NPB=DIRECTORY for bench-apps (CLASSES="S W")
	@tests/apps/build-npb "$(NPB)" $(CLASSES)

.PHONY: bench-doctor
bench-doctor: packages tests ## how many known faults of networks headway doctor names first, and what it says of healthy ones
	@tests/doctor/bed

.PHONY: bench-model
bench-model: packages ## how fast the models are, and PlogPT beside SimGrid
	@tests/lib/install-packages packages-bench.txt
	@$(MAKE) programs
	@cmake --build $(BUILD)/cmake --target model_benches -j $(JOBS)
	@tests/bench/model

.PHONY: bench-daemon
bench-daemon: packages ## how fast the daemon is: jobs, messages, reconciling, shares; its memory
	@$(MAKE) programs
	@cmake --build $(BUILD)/cmake --target shares_bench daemon_bench -j $(JOBS)
	@tests/bench/daemon

.PHONY: reproduce
reproduce: packages tests ## regenerate Documentation/reproduction.md, the papers' numbers
	@tests/reproduce/reproduce

.PHONY: reproduce-live
reproduce-live: packages tests ## measure the papers' experiments in guests, and write Documentation/reproduction-live.md (long)
	@tests/reproduce/live

.PHONY: deb
deb: packages ## build Debian packages of the work tree into build/deb (nothing is installed)
	@tests/lib/install-packages packages-deb.txt
	@JOBS=$(JOBS) packaging/deb

.PHONY: dist
dist: ## pack the sources of the last commit, build/headway-VERSION.tar.xz
	@packaging/dist

.PHONY: bundle
bundle: packages configured ## a way in without packages or root: programs for $HOME, build/bundle/*.tar.zst
	@cmake --build $(BUILD)/cmake -j $(JOBS) --target bundle

.PHONY: html
html: packages ## the documentation as a site, build/html/index.html
	@Documentation/site/build

# Where to: DESTDIR and PREFIX (/usr/local); RELEASES names kernels.  The module
# goes to the running kernel, or to all that have headers.
.PHONY: install
install: programs ## install programs, tc plugin, man pages and the module (PREFIX, DESTDIR)
	@DESTDIR="$(DESTDIR)" PREFIX="$(PREFIX)" packaging/install $(RELEASES)

.PHONY: uninstall
uninstall: ## remove what make install has put there (same PREFIX, DESTDIR)
	@DESTDIR="$(DESTDIR)" PREFIX="$(PREFIX)" packaging/uninstall

.PHONY: dkms-install
dkms-install: ## let DKMS build the module, for later kernels too
	@DKMSFLAGS="$(DKMSFLAGS)" packaging/dkms/package install $(RELEASES)

.PHONY: dkms-uninstall
dkms-uninstall: ## take the module out of DKMS again
	@DKMSFLAGS="$(DKMSFLAGS)" packaging/dkms/package remove

.PHONY: style
style: ## checkpatch, SPDX lines, man pages, the site
	@tests/style

.PHONY: words
words: ## how many words the documents have, tables of figures left out
	@tests/lib/words

.PHONY: clean
clean: ## remove build/; check-debug's kernel is in ~/.cache/headway
	@rm -rf $(BUILD)

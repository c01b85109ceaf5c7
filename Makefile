# Thin on purpose: each target sets up what it needs, and says in one command what it does.
CARGO ?= cargo
DEMO := target/demo
SKIPPED := target/skipped.txt
# As `make run` builds the program: quickly, see the profile in Cargo.toml.
HUGEWISE := target/quick/hugewise
MATRIX_CACHE ?= $(CURDIR)/.cache/matrix
# The tools as the tests build them: for checking they need no optimised build, measuring does.
XTASK = $(CARGO) run --locked --quiet --package xtask --

# Command → Debian package that brings it. Only what is missing is installed.
TOOLS := cc:gcc ld:binutils

# What the kernel matrix needs besides.
MATRIX_TOOLS := qemu-system-x86_64:qemu-system-x86 qemu-system-aarch64:qemu-system-arm \
  cpio:cpio xz:xz-utils /usr/sbin/debootstrap:debootstrap dpkg-deb:dpkg

# What the examples of servers under load run; one that cannot be installed is a skip with a name.
SERVICE_TOOLS := redis-server:redis-server redis-benchmark:redis-tools wrk:wrk \
  javac:default-jdk-headless pgbench:postgresql go:golang-go memcached:memcached
# Allocators, whose presence no command tells.
SERVICE_LIBRARIES := libjemalloc.so.2:libjemalloc2 libmimalloc.so.2:libmimalloc2.0 \
  libtcmalloc_minimal.so.4:libtcmalloc-minimal4

# What scrapes the exporter.
OBSERVE_TOOLS := prometheus:prometheus promtool:prometheus curl:curl python3:python3 victoria-metrics:victoria-metrics

# What carries out a fleet experiment.
FLEET_TOOLS := prometheus:prometheus promtool:prometheus ansible-playbook:ansible-core podman:podman python3:python3 slurmctld:slurmctld slurmd:slurmd \
  sbatch:slurm-client munged:munge rclone:rclone openssl:openssl crun:crun runc:runc

# What looks at pages.
PAGE_TOOLS := chromium:chromium firefox-esr:firefox-esr npm:npm

# What a release is packed with.
DIST_TOOLS := /usr/sbin/debootstrap:debootstrap dpkg-deb:dpkg rpmbuild:rpm podman:podman
# Lists what the programs consist of.
CYCLONEDX := 0.5.9
DIST_BIN ?= $(CURDIR)/target/tools

# The fuzz targets are no part of the workspace: only cargo-fuzz can link them.
FUZZ := --manifest-path fuzz/Cargo.toml --locked
CARGO_FUZZ := 0.13.2
# Processor time of each target.
FUZZ_SECONDS ?= 3600

.PHONY: help setup build run test test-faults test-kernels test-packages test-services test-containers test-observe test-load test-advice test-starts test-pages test-exports test-fleet fuzz gallery lint calibrate \
  doc dist dist-twice publish-check clean

help:
	@echo "make run           measure a real program on this machine, in under three minutes"
	@echo "make test          format, lints, unit, property, golden and end-to-end tests"
	@echo "make test-faults   each system call of the program fails once, and nothing is left behind"
	@echo "make test-kernels  the same program on other kernels and on Arm, under QEMU"
	@echo "make test-services examples/ with the real programs: Redis, Java, PostgreSQL, Go, memcached"
	@echo "make test-containers  hugewise in containers of podman, with and without ptrace"
	@echo "make test-observe  hugewise export, its alerts and its dashboards with the real Prometheus (three minutes)"
	@echo "make test-load     200 exporters under one Prometheus, and one that is asked all the time (a quarter of an hour)"
	@echo "make test-starts   a thousand starts of Go and Java under each means that makes calls in a program"
	@echo "make test-advice   the experiments of the rules of advise again, beside their kept answers (more than an hour)"
	@echo "make test-pages    docs/gallery is up to date, and can be looked at in Chromium and Firefox"
	@echo "make test-fleet    agents on QEMU guests, by Ansible, podman, Slurm, a Kubernetes API server and containerd; engines that say arms; rows by S3 (the guests: a quarter of an hour)"
	@echo "make test-exports  the programs that exports are for read them: pprof, Firefox Profiler, benchstat"
	@echo "make fuzz          each fuzz target for an hour of processor time, from the kept corpora"
	@echo "make gallery       make the pages of docs/gallery again"
	@echo "make calibrate     print the error rates of docs/calibration again"
	@echo "make doc           the API documentation"
	@echo "make dist          static programs, .deb, .rpm, image, SHA256SUMS and SBOM, in dist/"
	@echo "make test-packages install .deb, .rpm and image, and run them"

setup:
	@command -v $(CARGO) >/dev/null || { \
	  echo "cargo is missing: install Rust 1.95 or newer first" >&2; exit 1; }
	@missing=""; \
	for tool in $(TOOLS); do \
	  command -v $${tool%%:*} >/dev/null || missing="$$missing $${tool##*:}"; \
	done; \
	[ -e /usr/include/stdio.h ] || missing="$$missing libc6-dev"; \
	[ -z "$$missing" ] && exit 0; \
	if [ "$$(id -u)" != 0 ]; then \
	  echo "these packages are missing:$$missing — as root: apt-get install$$missing" >&2; exit 1; \
	fi; \
	apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends $$missing

build: setup
	$(CARGO) build --release --locked -p hugewise -p hugewise-lab

# A real program that every Debian has: a Python dict of two million keys, or where there is no
# Python, sort of three million numbers in scattered order. Both are the same on every machine.
PYTHON := $(firstword $(wildcard /usr/bin/python3) $(shell command -v python3))
ifdef PYTHON
DEMO_INPUT := $(DEMO)/dict.py
DEMO_COMMAND := $(PYTHON) $(DEMO_INPUT)
else
DEMO_INPUT := $(DEMO)/numbers.txt
DEMO_COMMAND := sort -n $(DEMO_INPUT) -o /dev/null
endif

$(DEMO)/dict.py:
	@mkdir -p $(DEMO)
	@echo 'd = {i: i for i in range(2_000_000)}' > $@

$(DEMO)/numbers.txt:
	@mkdir -p $(DEMO)
	@seq 3000000 | awk '{ printf "%d\n", ($$1 * 1103515245 + 12345) % 2147483648 }' > $@.part
	@mv $@.part $@

# As root the machine's own settings are tried too; they are put back whatever happens.
run: setup $(DEMO_INPUT)
	$(CARGO) build --profile quick --locked -p hugewise --no-default-features --features products
	LC_ALL=C $(HUGEWISE) run $$([ "$$(id -u)" = 0 ] && echo --system) --max-time 120s \
	  -- $(DEMO_COMMAND)
	@echo
	@echo "Next:  $(HUGEWISE) report -v last"
	@echo "       $(HUGEWISE) run -- ./your-program"

lint: setup
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked --quiet
	@if command -v clang-14 >/dev/null; then $(XTASK) bpf --check; \
	else echo "no clang-14: the committed BPF object is compared by its fingerprint alone"; fi
	@if ! command -v c++ >/dev/null; then echo "no c++: the fuzz targets are not compiled"; \
	elif ! $(CARGO) fetch $(FUZZ) --quiet; then echo "not fetched: the fuzz targets are not compiled"; \
	else $(CARGO) fmt --manifest-path fuzz/Cargo.toml --check && \
	  $(CARGO) clippy $(FUZZ) --target-dir target --quiet -- -D warnings; fi

# One build for everything: of single packages cargo chooses other features, and builds them twice.
test: lint
	$(CARGO) test --workspace --all-targets --locked --no-run
	@rm -f $(SKIPPED)
	HUGEWISE_SKIPPED=$(CURDIR)/$(SKIPPED) target/debug/xtask test
	@if [ -s $(SKIPPED) ]; then cat $(SKIPPED); echo "$$(wc -l < $(SKIPPED)) checks were skipped"; \
	else echo "no check was skipped"; fi

# Alerts fire in seconds there, with the memory of this machine fragmented for a while.
test-observe: TOOLS += $(OBSERVE_TOOLS)
test-observe: build
	contrib/prometheus/try target/release

# With the program as it is handed out: most of what an exporter has in memory is its file.
test-load: TOOLS += $(OBSERVE_TOOLS)
test-load: setup
	$(CARGO) build --profile dist --locked -p hugewise
	contrib/prometheus/load target/dist

# The packages of npm are fetched for each run, and are no part of the project.
test-pages: TOOLS += $(PAGE_TOOLS)
test-pages: build
	npm install --prefix target/pages --no-audit --no-fund --silent axe-core@4 puppeteer-core@24
	docs/gallery/make target/release/hugewise target/pages/gallery
	for page in docs/gallery/*.html; do cmp $$page target/pages/gallery/$${page##*/} || exit 1; done
	node xtask/pages/look.mjs target/pages docs/gallery/*.html

# What is fetched stays in target. What cannot be had is a skip with its reason.
test-exports: setup
	$(CARGO) build --locked -p hugewise
	xtask/exports/try target/debug/hugewise target/exports

# What is fetched stays in target. What cannot be had is a skip with its reason. PARTS="guests slurm" for some of them.
test-fleet: TOOLS += $(FLEET_TOOLS) $(MATRIX_TOOLS)
test-fleet: setup
	$(CARGO) build --locked -p hugewise -p hugewise-lab
	xtask/fleet/all target/debug target/fleet $(PARTS)

gallery: build
	docs/gallery/make target/release/hugewise docs/gallery

# Some hundred uses of the program; `make test` has those that matter most.
test-faults: setup
	$(CARGO) build --locked -p hugewise -p hugewise-lab
	$(CARGO) test --locked -p hugewise --test cli refused::sweep -- --ignored --nocapture

# Emulated: for function, never for timing. The table says what was skipped and why.
test-kernels: TOOLS += $(MATRIX_TOOLS)
test-kernels: setup
	$(XTASK) vm

# Packages of the programs that the kernel matrix tests; `make test-packages PACKAGES=dist` makes a
# release and tries that. One of the roots is that in which programs for aarch64 are built.
PACKAGES ?= target/packages

.PHONY: target/packages
target/packages:
	@[ -x $(MATRIX_CACHE)/programs/$$(uname -m)/hugewise ] || { \
	  echo "make test-kernels comes first: it builds the programs" >&2; exit 1; }
	rm -rf $@
	packaging/pack $(MATRIX_CACHE)/programs $@

test-packages: TOOLS += $(DIST_TOOLS)
test-packages: setup $(PACKAGES)
	@if [ "$$(id -u)" != 0 ]; then echo "SKIP packages: roots of Debian are made by root only"; else \
	packaging/try $(PACKAGES) \
	  $$($(XTASK) root bookworm --cache $(MATRIX_CACHE)) $(MATRIX_CACHE)/arm64-root; fi

test-advice: build
	examples/advise/try target/release/hugewise

test-services: setup
	@missing=""; \
	for tool in $(SERVICE_TOOLS); do \
	  command -v $${tool%%:*} >/dev/null || missing="$$missing $${tool##*:}"; \
	done; \
	for library in $(SERVICE_LIBRARIES); do \
	  /sbin/ldconfig -p | grep -qF $${library%%:*} || missing="$$missing $${library##*:}"; \
	done; \
	[ -z "$$missing" ] || [ "$$(id -u)" != 0 ] || { apt-get update -q; \
	for package in $$missing; do \
	  DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends $$package || \
	    echo "$$package could not be installed"; \
	done; }
	$(CARGO) build --locked -p hugewise -p hugewise-lab
	@rm -f $(SKIPPED)
	HUGEWISE_SKIPPED=$(CURDIR)/$(SKIPPED) $(CARGO) test --locked -p hugewise --test cli \
	  service::examples -- --ignored --nocapture
	@if [ -s $(SKIPPED) ]; then cat $(SKIPPED); echo "$$(wc -l < $(SKIPPED)) checks were skipped"; \
	else echo "no check was skipped"; fi

test-containers: TOOLS += podman:podman crun:crun
test-containers: setup
	$(CARGO) build --locked -p hugewise -p hugewise-lab
	$(CARGO) test --locked -p hugewise --test containers

# STARTS=N for another number than 1,000.
test-starts: setup
	$(CARGO) build --locked -p hugewise -p hugewise-lab
	$(CARGO) test --locked -p hugewise --test cli trials::starts -- --ignored --nocapture

# Five hours of processor time; FUZZ_SECONDS=60 is a look. TARGETS="record words" for some of them.
fuzz: setup
	$(CARGO) install --locked --quiet --root $(DIST_BIN) cargo-fuzz --version $(CARGO_FUZZ)
	PATH=$(DIST_BIN)/bin:$$PATH fuzz/run $(FUZZ_SECONDS) target/fuzz $(TARGETS)

calibrate: setup
	$(CARGO) xtask calibrate

doc: setup
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked

# A release: of a commit, so nothing may be changed.
dist: TOOLS += $(DIST_TOOLS)
dist: setup
	@git diff --quiet HEAD || { echo "there are changes that are not committed" >&2; exit 1; }
	rm -rf dist target/static target/*/dist $(MATRIX_CACHE)/arm64-root/out/*/dist
	$(XTASK) static --cache $(MATRIX_CACHE) target/static
	$(CARGO) install --locked --quiet --root $(DIST_BIN) cargo-cyclonedx --version $(CYCLONEDX)
	PATH=$(DIST_BIN)/bin:$$PATH packaging/list-parts dist
	packaging/pack target/static dist
	@cat dist/SHA256SUMS
	@! find target/static -type f -size +12582912c -printf '%p takes %s bytes, more than 12 MiB\n' | grep .

# The same commit in another folder gives the same bytes.
dist-twice: dist
	rm -rf target/again
	git clone --quiet . target/again
	$(MAKE) -C target/again dist MATRIX_CACHE=$(MATRIX_CACHE) DIST_BIN=$(DIST_BIN)
	diff dist/SHA256SUMS target/again/dist/SHA256SUMS
	@echo "the same bytes from two folders"

# What the crates index would take, built with the oldest Rust that Cargo.toml allows where rustup can
# choose it; nothing is uploaded.
publish-check: setup
	RUSTUP_TOOLCHAIN=$$(sed -n 's/^rust-version = "\(.*\)"/\1.0/p' Cargo.toml) \
	  $(CARGO) publish --dry-run --locked --workspace

clean:
	$(CARGO) clean

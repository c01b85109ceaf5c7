# Six thin targets; `cargo xtask --help` has the rest. Each installs what it needs as root, or names it.
CARGO ?= cargo
# The tools as the tests build them: for checking they need no optimised build, measuring does.
XTASK = $(CARGO) run --locked --quiet --package xtask --

.PHONY: run build test lint dist docs

# Measures a real program on this machine, in under three minutes.
run:
	@xtask/setup
	@xtask/demo

build:
	@xtask/setup
	$(CARGO) build --release --locked -p hugewise -p hugewise-lab

# Format, lints, unit, property, golden and end-to-end tests. One build for everything: of single packages cargo chooses other features,
# and builds them twice.
test: lint
	$(CARGO) test --workspace --all-targets --locked --no-run
	target/debug/xtask test

lint:
	@xtask/setup
	xtask/lint

# Static programs, .deb, .rpm, image, SHA256SUMS and SBOM of the last commit, in dist/.
dist:
	@xtask/setup
	$(XTASK) dist

# The reference pages, from the tables of the program, the site in target/site, and the API documentation.
docs:
	@xtask/setup
	$(XTASK) docs
	$(XTASK) site
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked

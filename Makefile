# `make` lists what there is to make.
#
# CARGO_TARGET_DIR, if set, says where everything is built.

PREFIX ?= /usr/local
DESTDIR ?=
ARGS ?=
BENCH ?= all
# Where rustup puts cargo, for shells that have not heard of it yet.
export PATH := $(PATH):$(HOME)/.cargo/bin

release := $(or $(CARGO_TARGET_DIR),target)/release
need := .ci/need cc=gcc

.PHONY: help build demo test test-browser test-all test-vm fuzz lint prose docs audit miri sanitize bench install uninstall clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1|/p' Makefile | while IFS='|' read -r name what; do \
		printf 'make %-10s %s\n' "$$name" "$$what"; done

build: ## the command and the supervisor, optimised
	@$(need)
	cargo build --release --locked --bin millibox --bin millibox-supervisor

demo: ## example problems judged: right, wrong and hostile submissions (BACKEND=rlimit: without cgroups)
	@$(need) g++=g++
	@$(MAKE) --no-print-directory build
	@demo/run

test: ## tests, with one part of the hostile programs' cases (ARGS=growth: only tests named so)
	@# Started by root, it runs the tests of the sandbox again as an unprivileged user. Larger
	@# compilers (Java, Go, Rust, Node.js) are tested if they are installed.
	@$(need) g++=g++ python3=python3 setpriv=util-linux
	@$(need) fpc=fp-compiler || echo 'make: fpc is missing; tests of Pascal are skipped'
	@.ci/test $(ARGS)

# axe-core checks pages for accessibility. It is used by tests only and is not shipped.
axe := axe-core-4.14.1
axe_dir := $(or $(CARGO_TARGET_DIR),target)/axe
test-browser: ## the pages of the service in Chromium (ARGS=share: only tests named so)
	@$(need) g++=g++ python3=python3
	@$(need) chromium=chromium chromedriver=chromium-driver npm=npm || \
		echo 'make: without these, tests are skipped'
	@test -e $(axe_dir)/package/axe.min.js || { mkdir -p $(axe_dir) && cd $(axe_dir) && \
		npm pack --silent $(subst core-,core@,$(axe)) >/dev/null && tar xzf $(axe).tgz && rm $(axe).tgz; } || \
		echo 'make: axe-core cannot be downloaded; its tests are skipped'
	cargo build --locked --bins -p millibox-cli -p millibox-stage -p millibox-supervisor
	cargo test --locked -p millibox-browser-tests -- $(ARGS)

test-all: ## the same with all cases of the hostile programs
	@$(MAKE) --no-print-directory test ARGS=--all

test-vm: ## the sandbox's tests on other kernels and set-ups, in emulated machines (ARGS=--list: which)
	@tests/vm/run $(ARGS)

# Counters in every branch of everything that is compiled here: inputs that reach something new are kept.
sancov := -C passes=sancov-module -C llvm-args=-sanitizer-coverage-level=3 \
	-C llvm-args=-sanitizer-coverage-inline-8bit-counters

fuzz: ## readers, policy compiler and checkers with whatever bytes (ARGS='--seconds 600 tokens zip': how long, which)
	@$(need)
	RUSTFLAGS='$(sancov)' cargo run --locked --quiet --profile fuzz -p millibox-fuzz --bin fuzz \
		--target-dir '$(or $(CARGO_TARGET_DIR),target)/fuzzing' --target $(shell rustc -vV | sed -n 's/^host: //p') -- $(ARGS)

lint: prose ## prose, formatting, clippy and documentation, without a warning
	@$(need)
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings
	@# The command and the library have one name, so they are documented one after the other.
	RUSTDOCFLAGS='-D warnings' cargo doc --locked --no-deps --workspace --bins --document-private-items
	RUSTDOCFLAGS='-D warnings' cargo doc --locked --no-deps --workspace --lib

prose: ## wording, width, links and commit subjects (ARGS='--all FILE': findings of a file)
	@$(need) python3=python3
	@.ci/prose-test --quiet
	@.ci/prose $(ARGS)

site := $(abspath $(or $(CARGO_TARGET_DIR),target))/book
docs: ## the documentation as a site with search, in target/book (needs mdbook)
	@$(need) python3=python3
	@mdbook --version >/dev/null 2>&1 || \
		{ echo 'docs: mdbook not found: cargo install --locked mdbook (takes some minutes)' >&2; exit 1; }
	mdbook build docs --dest-dir '$(site)' $(ARGS)
	@echo 'docs: the site is $(site)/index.html'

audit: ## dependencies: licences, known holes, where they come from (cargo-deny; OFFLINE=1: with lists that are there)
	@cargo deny --version >/dev/null 2>&1 || \
		{ echo 'audit: cargo-deny not found: cargo install --locked cargo-deny' >&2; exit 1; }
	@# Offline, the list of holes is a clone of rustsec/advisory-db; if there is none, what is said names its place.
	cargo deny --locked $(if $(OFFLINE),--offline) check $(ARGS)

miri: ## what has no system calls, under an interpreter that sees undefined behaviour (nightly Rust with miri)
	@cargo +nightly miri --version >/dev/null 2>&1 || \
		{ echo 'miri: not found: rustup component add --toolchain nightly miri rust-src' >&2; exit 1; }
	MIRIFLAGS=-Zmiri-disable-isolation PROPTEST_CASES=2 \
		cargo +nightly miri test --locked -p millibox-wire -p millibox-seccomp --lib \
		--target-dir '$(or $(CARGO_TARGET_DIR),target)/miri' -- --skip nearest_name --skip kills_everything --skip pass_allows_only $(ARGS)

sanitize: ## the crates' and the sandbox's tests with AddressSanitizer, ThreadSanitizer (nightly Rust), valgrind
	@$(need)
	@.ci/sanitize $(ARGS)

# The page of results shows pieces.txt.
results := lab-results
pieces := $(results)/pieces.txt
bench: build ## all experiments, and pieces of a run; short, into lab-results (BENCH=true: one; ARGS='--scale full': options)
	cargo build --release --locked --bin millibox-lab
	@mkdir -p $(results)
	$(if $(filter all,$(BENCH)),{ date -u +%FT%TZ && cargo bench --locked -p millibox-lab --bench pieces -- --noplot \
		--output-format bencher --warm-up-time 0.5 --measurement-time 1; } > $(pieces) || { rm -f $(pieces); exit 1; })
	$(release)/millibox-lab $(BENCH) --out $(results) $(ARGS)
	@echo 'make: the page is $(results)/index.html'

install: ## the command and the supervisor into PREFIX/bin (PREFIX=/usr/local)
	@test -x $(release)/millibox -a -x $(release)/millibox-supervisor || $(MAKE) --no-print-directory build
	install -d '$(DESTDIR)$(PREFIX)/bin'
	install -m 755 $(release)/millibox $(release)/millibox-supervisor '$(DESTDIR)$(PREFIX)/bin'

uninstall: ## takes them away again
	rm -f '$(DESTDIR)$(PREFIX)/bin/millibox' '$(DESTDIR)$(PREFIX)/bin/millibox-supervisor'

clean: ## everything that was built
	cargo clean

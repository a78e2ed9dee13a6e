# SPDX-License-Identifier: Apache-2.0
# A thin front of meson. `make demo` and `make check` need nothing installed beforehand but make itself;
# NO_DEPS=1 keeps them from installing anything, MESON_ARGS goes to meson setup, TEST_ARGS to meson test.
BUILD ?= build
MESON_ARGS ?=
TEST_ARGS ?=
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
export LC_ALL := C.UTF-8

ifdef NO_DEPS
deps = :
else
deps = tools/install-deps
endif

.PHONY: all build demo check corpus install asan tsan fuzz coverage tidy format format-check layers docs bench clean help
.NOTPARALLEL:

all: ## build the program (build/joulemark)
	@$(deps) build
	@$(MAKE) --no-print-directory build

build: $(BUILD)/build.ninja
	@ninja -C $(BUILD) -j $(JOBS)

$(BUILD)/build.ninja:
	meson setup $(BUILD) --prefix $(PREFIX) $(MESON_ARGS)

demo: ## measure a simulated 8-GPU node; with URL=http://host:port a real endpoint
	@$(deps) build demo
	@$(MAKE) --no-print-directory build
	$(BUILD)/joulemark demo $(URL)

check: ## build and run every test; ends with "N passed, N failed, N skipped"
	@$(deps) build check
	@$(MAKE) --no-print-directory build
	@tools/check $(BUILD) $(TEST_ARGS)

corpus: ## unpack the public test data to build/corpus
	@tools/corpus $(BUILD)

install: all ## install below PREFIX (DESTDIR is honoured)
	meson install -C $(BUILD) --no-rebuild

asan: ## tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@tools/sanitize address,undefined build-asan

tsan: ## tests under ThreadSanitizer
	@tools/sanitize thread build-tsan

fuzz: ## every fuzz target for FUZZ_SECONDS each
	@$(deps) build ci
	@tools/fuzz-smoke $(FUZZ_SECONDS)

coverage: ## line coverage of the tests in build-coverage/meson-logs/coveragereport
	@$(deps) build check ci
	@tools/coverage

tidy: $(BUILD)/build.ninja ## clang-tidy over the sources
	@$(deps) ci
	@tools/tidy $(BUILD)

format: ## clang-format the sources in place
	@tools/format

format-check: ## say which sources clang-format would change
	@tools/format --check

layers: build ## includes and symbols of the rooms
	@tools/check-layers --lib $(BUILD)/libjm.a

docs: build ## write the pages that are made from the program's tables
	@tools/gen-docs $(BUILD)

bench: ## cost bounds and benchmarks
	@$(deps) build check
	@$(MAKE) --no-print-directory build
	meson test -C $(BUILD) --no-rebuild --benchmark --verbose

clean: ## remove the build folders
	rm -rf build build-*

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(firstword $(MAKEFILE_LIST)) | expand -t 14

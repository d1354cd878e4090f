# The work is in scripts/; this file only names it.
# Settings: FUZZTIME (20s, or 10000x inputs), BENCH (regular expression),
# BENCHTIME (1s, or 1x), COUNT (repetitions of a benchmark), RUNS (of the suites
# by flake), VERBS (no: test leaves out what make verbs does).

FUZZTIME  ?= 20s
BENCH     ?= .
BENCHTIME ?= 1s
COUNT     ?= 1
RUNS      ?= 100
VERBS     ?= yes

# Tools have their own module, so that their dependencies never become ours.
TOOL := go tool -modfile=tools/go.mod

# Programs carry the commit they were built from. In a copy that git cannot
# read (no git, another owner) the build would fail instead of leaving it out.
ifneq ($(shell git rev-parse HEAD >/dev/null 2>&1 && echo readable),readable)
export GOFLAGS := $(GOFLAGS) -buildvcs=false
endif

.DEFAULT_GOAL := help
.PHONY: help build demo test verbs race invariants flake lint fmt bench fuzz cover ci clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## bin/publisher and bin/subscriber
	CGO_ENABLED=0 go build -o bin/ ./cmd/publisher ./cmd/subscriber

demo: build ## publisher to subscriber over TCP, verified, under a minute
	@scripts/demo.sh bin

test: ## install what the tests need, run them, those over verbs too, name what was skipped
	@scripts/setup.sh $(if $(filter yes,$(VERBS)),verbs)
	@scripts/test.sh
ifeq ($(VERBS),yes)
	@test/verbs/run.sh
endif

verbs: ## the tests of the RDMA backend over real verbs, in a virtual machine with Soft-RoCE
	@scripts/setup.sh verbs
	@test/verbs/run.sh

race: ## the tests under the race detector (needs a C compiler)
	@scripts/race.sh

# Not the bus: its tests use the backend in memory, which checks in every build.
invariants: ## the tests in the build that checks how memory and threads are used, with the race detector
	@PACKAGES="./netio/... ./node/... ./cmd/... ./examples/..." scripts/race.sh -tags invariants

flake: ## the backends' conformance suites and random runs RUNS times, in every build; a long time
	@RUNS=$(RUNS) scripts/flake.sh

# With the tag libfabric other files belong to the build. What both have in common
# is not looked at again.
lint: ## golangci-lint as pinned in tools/go.mod (first run builds it: about a minute)
	CGO_ENABLED=0 $(TOOL) golangci-lint run ./...
	@if pkg-config --exists libfabric 2>/dev/null; then set -x; \
		CGO_ENABLED=1 $(TOOL) golangci-lint run --build-tags libfabric ./...; \
	else echo "SKIPPED: golangci-lint of the RDMA backend needs libfabric (Debian: libfabric-dev pkg-config)"; fi
	cd tools && go tool golangci-lint run ./...

fmt: ## format the code as lint wants it
	$(TOOL) golangci-lint fmt

bench: ## benchmarks; compare two outputs: go tool -modfile=tools/go.mod benchstat OLD NEW
	go test -run '^$$' -bench '$(BENCH)' -benchtime $(BENCHTIME) -count $(COUNT) -benchmem ./...

fuzz: ## each fuzz target for FUZZTIME
	@FUZZTIME=$(FUZZTIME) scripts/fuzz.sh

cover: ## statement coverage of the whole module, per function
	go test -coverpkg=./... -coverprofile=coverage.out ./...
	go tool cover -func=coverage.out

ci: ## all that must pass before a change goes in
	@CI=true .ci/run

clean: ## remove what the targets above have built
	rm -rf bin coverage.out

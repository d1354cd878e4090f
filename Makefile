# The work is in scripts/; this file only names it.
# Settings: FUZZTIME (20s, or 10000x inputs), BENCH (regular expression),
# BENCHTIME (1s, or 1x), COUNT (repetitions of a benchmark), BASE (commit that
# benchstat compares with), ONLY and SYSTEMS (regular expressions for bench and
# profile), RUNS (of the suites by flake), HOURS (of search and soak).

FUZZTIME  ?= 20s
BENCH     ?= .
BENCHTIME ?= 1s
COUNT     ?= 1
BASE      ?= main
ONLY      ?=
SYSTEMS   ?=
RUNS      ?= 100
HOURS     ?= 1
export HOURS

# The tests that do more with TAGBUS_TESTS=all.
LIMITS := ^(Test(Publisher|Subscriber)_noSliceWorksLong|TestPublisher_(heapStaysWithinItsBounds|manySubscribersOfRandomHalves)|TestRecordingOfAReplay)$$

NATS_SERVER := scripts/pinned.sh bench github.com/nats-io/nats-server/v2

# Programs carry the commit they were built from. In a copy that git cannot
# read (no git, another owner) the build would fail instead of leaving it out.
ifneq ($(shell git rev-parse HEAD >/dev/null 2>&1 && echo readable),readable)
export GOFLAGS := $(GOFLAGS) -buildvcs=false
endif

.DEFAULT_GOAL := help
.PHONY: help elsewhere search build build-bridge build-etcd lib lib-etcd demo demo-bridge demo-etcd release release-check test test-all limits members site docs verbs web screenshot race invariants flake faults faults-check soak house lint fmt gobench bench bench-full bench-doc bench-add bench-bridge bench-check crowd profile benchstat fuzz cover ci clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## bin/publisher, bin/subscriber and bin/tagbus
	CGO_ENABLED=0 go build -o bin/ ./cmd/publisher ./cmd/subscriber ./cmd/tagbus

build-bridge: ## bin/tagbus-bridge
	CGO_ENABLED=0 go -C bridge build -o ../bin/ ./cmd/tagbus-bridge

build-etcd: ## bin/: tagbus-directory, and publisher-etcd, subscriber-etcd and tagbus-etcd, which the others hand over to
	CGO_ENABLED=0 go -C directory/etcd build -o ../../bin/ ./cmd/...

lib: ## bin/lib: the C library, libtagbus.so and libtagbus-core.so, with headers for C and C++, pkg-config and CMake; needs a C compiler (CC and GOARCH for another processor)
	@scripts/lib.sh

lib-etcd: ## the same, and libtagbus-core-etcd.so
	@scripts/lib.sh etcd

demo: build ## publisher to subscriber over TCP, verified, under a minute
	@scripts/demo.sh bin

demo-bridge: build build-bridge ## from one bus over NATS JetStream to another, with kills of bridge and server, under a minute
	@scripts/demo-bridge.sh bin "$$($(NATS_SERVER))"

demo-etcd: build build-etcd ## a bus on three members of tagbus-directory, one of them killed in the middle, under a minute
	@scripts/demo-etcd.sh bin

release: ## dist/: archives with static programs, deb and rpm (VERSION=v0.1.0 where git does not tell it)
	@scripts/release.sh

release-check: ## a release, tried as users get it: the deb in a clean Debian, its services under its systemd
	@scripts/setup.sh release
	@scripts/release-check.sh

test: ## install what the tests need, run the usual ones, name what was skipped and left out
	@scripts/setup.sh
	@$(if $(filter test-all,$(MAKECMDGOALS)),SCRIPTS=all )scripts/test.sh
	@[ '$(MAKECMDGOALS)' = test-all ] || printf '%s\n' '' 'Left out, and run by make test-all, which takes some ten minutes more:' \
		'  make limits      work and memory at the limits that the documentation promises' \
		'  make invariants  the race detector and the rules of memory and threads, with long' \
		'                   random walks and the other configurations of each backend' \
		'  make members     faults of the members of a directory that need minutes' \
		'  make site        a simulated site: 350 readout hosts, 500 consumers' \
		'  make faults-check  the table of faults, with real processes' \
		'  make soak        a whole bus with faults all the time, three minutes of it' \
		'  make verbs       RDMA over real verbs; installs a virtual machine' \
		'  make web         the page in a browser, which it installs' \
		'  make elsewhere   builds for other systems and processors'

test-all: test limits invariants members site faults-check soak verbs web elsewhere ## everything: make test, and all that it leaves out

limits: ## the tests at the limits that the documentation promises; some minutes
	CGO_ENABLED=0 TAGBUS_TESTS=all go test -count=1 -timeout 20m -run '$(LIMITS)' ./bus ./cmd/internal/replay

members: ## kills, partitions, full and slow disks of the members of a directory (tagbus-directory); four minutes
	TAGBUS_TESTS=all go -C directory/etcd test -count=1 -timeout 20m ./cmd/tagbus-directory

site: ## the simulation of a site (docs/scaling.md), which prints its tables; some minutes and 4 GB of memory
	TAGBUS_TESTS=all go test -count=1 -timeout 20m -v ./internal/site

verbs: ## the tests of the RDMA backend over real verbs, in a virtual machine with Soft-RoCE
	@scripts/setup.sh verbs
	@test/verbs/run.sh

web: ## the page in a headless Chromium, against real processes, in under a minute
	@scripts/setup.sh browser
	@test/web/run.sh

docs: ## build/site: these documents as a site with a search; a link to nothing fails it
	@scripts/setup.sh docs
	@scripts/docs.sh

screenshot: ## docs/page.png and docs/page-dark.png, the page of a bus that runs for half a minute
	@scripts/setup.sh browser
	@test/web/run.sh screenshot

race: ## the tests under the race detector (needs a C compiler)
	@scripts/race.sh

invariants: ## all tests in the build that checks how memory and threads are used, with the race detector
	@TAGBUS_TESTS=all scripts/race.sh -tags invariants

flake: ## the backends' conformance suites and random runs RUNS times, in every build; a long time
	@RUNS=$(RUNS) scripts/flake.sh

elsewhere: ## builds for other processors, with tests of a 32-bit one; macOS and Windows have tags, recording and tagbus rec (QUICK=quick: types only)
	@scripts/setup.sh elsewhere
	@scripts/elsewhere.sh $(QUICK)

search: ## random programs against the models of the bus for HOURS (1), at the lowest priority
	@scripts/search.sh

faults: ## the table of faults (docs/faults.md, which it writes): real processes in network namespaces, and a checker of its own; some ten minutes, and root
	@scripts/setup.sh
	CGO_ENABLED=0 go run ./test/faults -doc docs/faults.md

faults-check: ## the same, and nothing is written (QUICK=quick: the selection of five minutes; ONLY: rows by a regular expression)
	@scripts/setup.sh
	CGO_ENABLED=0 go run ./test/faults $(if $(QUICK),-quick) -only '$(ONLY)'

soak: ## a whole bus with faults that never rest, for HOURS (0.05, three minutes; SEED, and KEEP=folder for what the processes say); root
	@scripts/setup.sh
	go run ./test/faults/soak -hours $(if $(filter file,$(origin HOURS)),0.05,$(HOURS)) $(if $(SEED),-seed $(SEED)) $(if $(KEEP),-keep $(KEEP))

house: ## how the code is cut: a table of the packages, and the rules that it keeps or breaks
	@GOWORK=off go -C tools run ./house ..

lint: ## golangci-lint as pinned in tools/go.mod (the first run builds it), all parts of it
	@scripts/lint.sh

fmt: ## format the code as lint wants it
	"$$(scripts/linter.sh)" fmt

gobench: ## the Go benchmarks: BENCH, BENCHTIME, COUNT
	go test -run '^$$' -bench '$(BENCH)' -benchtime $(BENCHTIME) -count $(COUNT) -benchmem $$(scripts/packages-with.sh Benchmark)

# How bench/ is used; the command line is noted in what it writes.
BENCHRUN = cd bench && CGO_ENABLED=0 go run ./cmd/run -only '$(ONLY)' -systems '$(SYSTEMS)'

bench: ## the bus against its peers and plain C, with goals; some ten minutes on an idle machine
	$(BENCHRUN) -profile quick -command 'make bench'
	cd bench && CGO_ENABLED=0 go run ./cmd/bindings -only '$(ONLY)'

bench-full: ## the same, more thorough, some half an hour; writes docs/benchmarks.md
	$(BENCHRUN) -profile full -command 'make bench-full' -doc ../docs

bench-doc: ## docs/benchmarks.md from what was measured last
	$(BENCHRUN) -from out/results.jsonl -doc ../docs

bench-add: ## the same, and what was not measured last stays as it was
	$(BENCHRUN) -from ../docs/benchmarks.jsonl,out/results.jsonl -doc ../docs

bench-check: ## that every system of bench works and verifies, in a minute; measures nothing
	cd bench && go mod tidy -diff && CGO_ENABLED=0 BENCH_OUT="$$PWD/out" go test ./...
	$(BENCHRUN) -profile tiny -patience 0s -strict -command 'make bench-check'
	cd bench && CGO_ENABLED=0 go run ./cmd/bindings -check -only '$(ONLY)'

bench-bridge: build-bridge ## tagbus-bridge beside the client of the log's engine, with goals; three minutes
	cd bench && CGO_ENABLED=0 go run ./cmd/bridge -nats-server "$$(../$(NATS_SERVER))"

crowd: ## what it costs to look at 1,000 publishers and 1,000 subscribers; three minutes on an idle machine
	cd bench && CGO_ENABLED=0 go run ./cmd/crowd -apart && CGO_ENABLED=0 go run ./cmd/crowd

profile: ## CPU and allocation profiles of 40 B from end to end: bench/out/profiles (ONLY, SYSTEMS)
	@ONLY='$(or $(ONLY),^throughput/40B$$)' SYSTEMS='$(or $(SYSTEMS),^tagbus$$)' scripts/profile.sh

benchstat: ## the Go benchmarks of this tree against those of BASE, in turn: BENCH, COUNT
	@BENCH='$(BENCH)' BENCHTIME=$(BENCHTIME) COUNT=$(COUNT) scripts/benchstat.sh $(BASE)

fuzz: ## each fuzz target for FUZZTIME
	@FUZZTIME=$(FUZZTIME) scripts/fuzz.sh

cover: ## statement coverage of the whole module, per function
	go test -coverpkg=./... -coverprofile=coverage.out ./...
	go tool cover -func=coverage.out

ci: ## all that must pass before a change goes in
	@CI=true .ci/run

clean: ## remove what the targets above have built
	rm -rf bin build/site dist bench/out coverage.out

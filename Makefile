# What there is to do. `make` alone lists it.
GOLANGCI = go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
VERSION ?= $(shell git describe --tags 2>/dev/null || echo 0.1.0)
FUZZTIME ?= 30s
DURATION ?= 60s
SEED ?= 0
REDIS ?= always
BENCH_VARS = $(if $(WORKLOADS), WORKLOADS=$(WORKLOADS))$(if $(SYSTEMS), SYSTEMS=$(SYSTEMS))$(if $(PAIRS), PAIRS=$(PAIRS))
BENCH_FLAGS = $(if $(WORKLOADS),-workloads $(WORKLOADS)) $(if $(SYSTEMS),-systems $(SYSTEMS)) $(if $(PAIRS),-pairs $(PAIRS))

.DEFAULT_GOAL := help
.PHONY: help run build test race lint fuzz bench bench-smoke chaos chaos-smoke soak recovery mutants ci

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

run: build ## try it: everything in one process on an embedded Redis
	@exec bin/bide dev

build: ## bin/bide
	@CGO_ENABLED=0 go build -trimpath -ldflags "-X github.com/bide-go/bide/internal/cli.version=$(VERSION)" -o bin/bide .

test: ## all tests, on the embedded and on a real redis-server
	@.ci/redis-server || echo "left out: every test on a real redis-server" >&2
	go test ./...

race: ## all tests again with the race detector, but for those of whole processes, into which it does not see
	go test -race $$(go list ./... | grep -v -e /internal/proctest -e /internal/conformance -e /internal/cli)

lint: ## formatting, vet and the house rules
	@test -z "$$(gofmt -l .)" || { gofmt -l . | sed 's/^/gofmt would change: /'; exit 1; }
	$(GOLANGCI) run --allow-parallel-runners ./...
	go mod tidy -diff
	cd bench && $(GOLANGCI) run --allow-parallel-runners ./... && go mod tidy -diff

fuzz: ## every fuzz target for FUZZTIME each
	@for pkg in $$(go list ./...); do \
	  for target in $$(go test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
	    echo "$$pkg $$target"; \
	    go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x $$pkg || exit 1; \
	  done; \
	done

bench: ## bide beside its peers, into bench/RESULTS.md: half an hour; less with WORKLOADS=process,idle SYSTEMS=bide,asynq PAIRS=1
	@.ci/redis-server
	@cd bench && go build -o ../bin/bench . && ../bin/bench run $(BENCH_FLAGS) -command "make bench$(BENCH_VARS)"

bench-smoke: ## every workload of the benchmark once, with small numbers
	@.ci/redis-server
	@cd bench && go test ./... && go build -o ../bin/bench . && ../bin/bench run -smoke $(BENCH_FLAGS)

bin/chaos: FORCE
	@.ci/redis-server
	@go build -tags chaos -o bin/chaos ./internal/chaos/cmd
FORCE:

chaos: bin/chaos ## real processes under faults: DURATION=60s SEED=1 REDIS=always|everysec|sentinel|cluster
	bin/chaos -duration $(DURATION) -seed $(SEED) -redis $(REDIS)

chaos-smoke: bin/chaos ## the same, short and with a fixed seed
	bin/chaos -duration 12s -seed 7 -redis always -rate 30

soak: DURATION = 1h
soak: REDIS = everysec
soak: bin/chaos ## thousands of jobs a second under mild faults for an hour: DURATION=1h
	bin/chaos -mild -duration $(DURATION) -seed $(SEED) -redis $(REDIS) -rate 40 -bulk 2000

recovery: DURATION = 4m
recovery: bin/chaos ## how soon it is itself again after single faults
	bin/chaos -duration $(DURATION) -seed $(SEED) -redis $(REDIS) -pace 4s -only "SIGKILL,Redis killed,failover"

mutants: ## break the code on purpose, one place at a time, and see which test notices
	go run ./internal/chaos/mutate

ci: lint build test race bench-smoke chaos-smoke ## what has to pass before a change goes in

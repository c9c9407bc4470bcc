# What there is to do. `make` alone lists it.
GOLANGCI = go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
VERSION ?= $(shell git describe --tags 2>/dev/null || echo 0.1.0)
FUZZTIME ?= 30s

.DEFAULT_GOAL := help
.PHONY: help run build test race lint fuzz ci

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'

run: build ## try it: everything in one process on an embedded Redis
	@exec bin/bide dev

build: ## bin/bide
	@CGO_ENABLED=0 go build -trimpath -ldflags "-X github.com/bide-go/bide/internal/cli.version=$(VERSION)" -o bin/bide .

test: ## all tests, on the embedded and on a real redis-server
	@.ci/redis-server || echo "left out: every test on a real redis-server" >&2
	go test ./...

race: ## all tests again with the race detector
	go test -race ./...

lint: ## formatting, vet and the house rules
	@test -z "$$(gofmt -l .)" || { gofmt -l . | sed 's/^/gofmt would change: /'; exit 1; }
	$(GOLANGCI) run ./...
	go mod tidy -diff

fuzz: ## every fuzz target for FUZZTIME each
	@for pkg in $$(go list ./...); do \
	  for target in $$(go test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
	    echo "$$pkg $$target"; \
	    go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x $$pkg || exit 1; \
	  done; \
	done

ci: lint build test race ## what has to pass before a change goes in

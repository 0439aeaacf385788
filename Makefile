# Fanline. `make` lists what there is.
.DEFAULT_GOAL := help
.PHONY: help setup ready run build test faults lint bench

# What packages may take together stays far below this; a test that hangs says where it stood.
TEST_TIMEOUT ?= 8m

help: ## what you are reading
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: build ## start all of Fanline on this machine, with a demo: open the addresses it prints
	@exec bin/fanline dev $(ARGS)

build: setup ## bin/fanline
	@test -e bin/fanline || echo 'building bin/fanline: the first time takes a minute or two ...'
	@go build -o bin/fanline .

test: ready lint ## lint, then every test, with the race detector
	@go test -race -count=1 -timeout $(TEST_TIMEOUT) ./...

faults: setup ## kill instances at many random moments (ROUNDS=20)
	@go test -race -count=1 -v -timeout 40m -run 'Kill|Gap|Blast' ./e2e -e2e.rounds=$(or $(ROUNDS),20)

lint: ## gofumpt, go vet and staticcheck
	@scripts/lint

bench: setup ## the benchmarks (ARGS="-run NAME -json")
	@go run ./e2e/bench $(ARGS)

setup: ## install what is missing: Postgres and redis-server
	@scripts/setup

ready:
	@scripts/setup tests

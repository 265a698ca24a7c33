#!/usr/bin/env bash
# The gate, the same for a developer and for CI. Prints the time of each part.
set -euo pipefail
cd "$(dirname "$0")/.."
. hack/lib.sh

# k8s.io/kubernetes is compiled once, with the control plane's own flags, and by nothing else.
nested_packages() { (cd "$root/localcluster" && go list ./... | grep -v /cmd/kubespark-control-plane); }

format() {
	local bad
	bad=$(gofmt -l $(git ls-files '*.go'))
	[ -z "$bad" ] || die "not formatted (run gofmt -w): $bad"
}

lint_tool() { (cd hack/tools && go build -o "$root/bin/golangci-lint" github.com/golangci/golangci-lint/v2/cmd/golangci-lint); }

vet() {
	go vet ./...
	go vet -tags spark ./jvm/...
	(cd hack/image && go vet ./...)
	(cd hack/sparksuite && go vet ./...)
	(cd localcluster && go vet $(nested_packages) && go vet -tags e2e,contracts,e2elong ./e2e/...)
}

lint() {
	bin/golangci-lint run ./...
	(cd hack/image && ../../bin/golangci-lint run --config ../../.golangci.yml ./...)
	(cd hack/sparksuite && ../../bin/golangci-lint run --config ../../.golangci.yml ./...)
	(cd localcluster && ../bin/golangci-lint run --config ../.golangci.yml --build-tags e2e,contracts,e2elong ./internal/... ./cmd/kubespark-cluster/... ./e2e/...)
}

generated() {
	hack/generate.sh
	git diff --exit-code -- docs/reference docs/fidelity.md docs/spark-suite.md || die "generated files differ: commit what hack/generate.sh wrote"
	[ -z "$(git status --porcelain -- docs/reference)" ] || die "generated files are not committed: $(git status --porcelain -- docs/reference)"
}

# hack/volcano and hack/yunikorn are left out, here and below: they hold no code, and nothing but
# `make spark-suite-schedulers` downloads or compiles their Kubernetes.
tidy() {
	local m
	for m in . localcluster hack/image hack/kwok hack/sparksuite hack/tools internal/upload/servertest; do
		(cd "$m" && go mod tidy -diff) || die "$m/go.mod is not tidy: run go mod tidy there"
	done
}

scenarios() { go run ./hack/scenarios -quiet; }

unit() { go test -race ./...; }

nested_unit() {
	(cd localcluster && go test $(nested_packages))
	(cd hack/image && go test ./...)
	(cd hack/sparksuite && go test ./...)
	(cd internal/upload/servertest && go test ./...) # S3; the other servers are in test-long
}

part "format" format
part "lint tool" lint_tool
part "vet" vet
part "lint" lint
part "generated files" generated
part "go.mod tidy" tidy
part "scenarios" scenarios
part "unit tests (race)" unit
part "nested modules: unit tests" nested_unit
parts_table

#!/usr/bin/env bash
# Writes the generated pages: docs/reference/ from the commands and the typed settings, docs/fidelity.md from the recordings
# of stock Spark, docs/spark-suite.md from the results of Spark's suite.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p docs/reference
go run ./cmd/kubespark docs --dir docs/reference
(cd localcluster && go run ./cmd/kubespark-cluster docs --dir ../docs/reference)
go run ./hack/fidelity page docs/fidelity.md
(cd hack/sparksuite && go run . page ../.. results.jsonl ../../docs/spark-suite.md)

#!/usr/bin/env bash
# Writes the generated pages: docs/reference/ from the commands and the typed settings, docs/fidelity.md from the recordings
# of stock Spark.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p docs/reference
go run ./cmd/kubespark docs --dir docs/reference
(cd localcluster && go run ./cmd/kubespark-cluster docs --dir ../docs/reference)
go run ./hack/fidelity page docs/fidelity.md

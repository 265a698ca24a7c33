#!/usr/bin/env bash
# Writes the generated pages: docs/reference/ from the commands and the typed settings.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p docs/reference
go run ./cmd/kubespark docs --dir docs/reference
(cd localcluster && go run ./cmd/kubespark-cluster docs --dir ../docs/reference)

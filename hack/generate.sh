#!/usr/bin/env bash
# Writes the generated pages: docs/reference/ from the commands.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p docs/reference
go run ./cmd/kubespark docs --dir docs/reference

#!/usr/bin/env bash
# What is too long, or needs too much of others, for `make test`. Needs root and the package registries.
set -euo pipefail
cd "$(dirname "$0")/.."
. hack/lib.sh

part "build" make build
part "programs that run spark-submit" hack/contracts.sh
parts_table

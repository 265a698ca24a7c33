#!/usr/bin/env bash
# Programs of others run Spark through our spark-submit: Airflow's hook and the kubeflow operator, on a local cluster of
# their own, and Spark's own spark-submit behind ours. Arguments go to go test; -run REGEXP picks some.
set -euo pipefail
cd "$(dirname "$0")/.."

KUBESPARK_AIRFLOW_PYTHON=$(hack/contracts/airflow.sh)
KUBESPARK_OPERATOR=$(hack/contracts/operator.sh --binary)
KUBESPARK_OPERATOR_MODULE=$(hack/contracts/operator.sh)
export KUBESPARK_AIRFLOW_PYTHON KUBESPARK_OPERATOR KUBESPARK_OPERATOR_MODULE
exec hack/e2e.sh -tags e2e,contracts -run '^TestContract' "$@"

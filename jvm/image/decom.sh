#!/usr/bin/env bash
# The executor pod's preStop hook: SIGPWR asks the executor to decommission; the wait gives it time to move its blocks.
# The pod's termination grace must be longer than the wait.
set -euo pipefail

executor=$(pgrep -o -f org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend) || true
if [[ -z $executor ]]; then
  echo "No executor process is left to decommission."
  exit 0
fi
echo "Asking the executor (process $executor) to decommission."
kill -s SIGPWR "$executor"
for ((second = 0; second < 30; second++)); do
  if ! kill -0 "$executor" 2>/dev/null; then exit 0; fi
  sleep 1
done

#!/usr/bin/env bash
# From a fresh clone to a real Spark job: builds, starts the local cluster, submits Spark's own pi.py in cluster mode and
# shows its result. Leaves the cluster up.
set -euo pipefail
cd "$(dirname "$0")/.."
. hack/lib.sh

version=${SPARK_VERSION:-4.2.0}
if [ "$(id -u)" = 0 ]; then home=/var/lib; else home=${XDG_STATE_HOME:-$HOME/.local/state}; fi
state=${KUBESPARK_STATE_DIR:-$home/kubespark-cluster}
image=kubespark/spark:$version

"$root/hack/prerequisites.sh"

image() {
	bin/kubespark-cluster --state-dir "$state" image build-spark --spark-home "$(hack/fetch-spark.sh "$version")" \
		--kubespark bin "$image"
}

kubectl() { bin/kubespark-cluster --state-dir "$state" kubectl "$@"; }

account() { kubectl apply -f deploy/driver-rbac.yaml; }

job() {
	export KUBECONFIG=$state/kubeconfig
	master=$(kubectl config view -o 'jsonpath={.clusters[0].cluster.server}')
	bin/kubespark submit \
		--master "k8s://$master" \
		--deploy-mode cluster \
		--name spark-pi \
		--num-executors 2 \
		--conf spark.kubernetes.container.image="$image" \
		--conf spark.kubernetes.authenticate.driver.serviceAccountName=spark \
		--conf spark.kubespark.jar=/opt/kubespark/kubespark.jar \
		local:///opt/spark/examples/pi.py 20
}

result() {
	driver=$(kubectl get pods -l spark-role=driver --sort-by=.metadata.creationTimestamp -o name | tail -1)
	kubectl logs "$driver" | grep 'Pi is roughly' || die "the driver's log has no result: kubectl logs $driver"
}

part "build" make build
part "cluster up" bin/kubespark-cluster up --state-dir "$state"
part "Spark image" image
part "service account" account
part "job" job
printf '\n=> '
result
parts_table
cat <<END
The cluster stays up. To look around:
  export KUBECONFIG=$state/kubeconfig
  bin/kubespark-cluster kubectl get pods -A
  bin/kubespark-cluster kubectl logs $driver
  bin/kubespark-cluster status
  bin/kubespark submit --help
To stop it and remove all of it:
  bin/kubespark-cluster down
END

#!/usr/bin/env bash
# Spark's own Kubernetes integration suite (ScalaTest) from a checkout of Spark, on a local cluster of its own: docs/spark-original-suite.md.
# usage: hack/original-suite.sh CHECKOUT [arguments of ScalaTest's runner, -z 'Run SparkPi with no resources' for instance]
# SUBMIT and MANAGER name who submits and who manages executors: kubespark (the default) or stock.
set -euo pipefail
cd "$(dirname "$0")/.."
. hack/lib.sh

checkout=$(cd "${1:?usage: original-suite.sh CHECKOUT [arguments of ScalaTest\'s runner]}" && pwd)
shift
submit=${SUBMIT:-kubespark} manager=${MANAGER:-kubespark}
port=${PORT:-20243} network=${NETWORK:-127.147.0.0/16}

[ "$(id -u)" = 0 ] || die "the suite needs root: the local cluster's node makes real containers"
module=$checkout/resource-managers/kubernetes/integration-tests
[ -d "$module/src/test/scala" ] || die "$checkout is no checkout of Spark: it has no resource-managers/kubernetes/integration-tests"
for who in "$submit" "$manager"; do
	case $who in kubespark | stock) ;; *) die "SUBMIT and MANAGER are kubespark or stock, not $who" ;; esac
done
need java "install a JDK 17 or later"
# The version of the checkout is that of the released Spark which it runs with; a snapshot has none.
version=$(sed -n '/<artifactId>spark-parent_/,/<version>/s|.*<version>\(.*\)</version>.*|\1|p' "$checkout/pom.xml" | head -1)
spark=$(hack/fetch-spark.sh "$version")
mvn=$(command -v mvn || echo "$checkout/build/mvn")
work=$root/bin/original-suite-$version
mkdir -p "$work"

cluster() { bin/kubespark-cluster --state-dir "$work/cluster" "$@"; }
trap 'cluster down >/dev/null 2>&1 || true' EXIT

# The module alone, against Spark's released artifacts of Maven Central; Volcano's part is left out. Spark's build itself puts the
# test class path together in this phase.
compile() {
	"$mvn" -q -B -f "$checkout/pom.xml" -Denforcer.skip -Dstyle.color=never '-Pkubernetes,kubernetes-integration-tests,!volcano' \
		-pl resource-managers/kubernetes/integration-tests test-compile -Dmdep.outputFile="$work/classpath"
}

# The examples that the suite runs, by the compiler that is among Spark's jars: the distribution of PyPI has no jar of them.
examples() {
	local from=$checkout/examples/src/main/scala/org/apache/spark/examples name files=()
	for name in SparkPi DFSReadWriteTest MiniReadWriteTest SparkRemoteFileTest DriverSubmissionTest; do files+=("$from/$name.scala"); done
	rm -rf "$work/examples"
	mkdir -p "$work/examples"
	java -cp "$spark/jars/*" scala.tools.nsc.Main -usejavacp -nowarn -d "$work/examples" "${files[@]}"
}

# home FOLDER: a Spark distribution with what Spark's own image has and that of PyPI lacks.
home() {
	rm -rf "$1"
	mkdir -p "$1/examples/jars" "$1/examples/src/main" "$1/conf"
	ln -s "$spark"/{jars,sbin,data,python,licenses} "$1/"
	cp -r "$spark/bin" "$1/bin"
	cp -r "$checkout/examples/src/main/python" "$1/examples/src/main/python"
	cp -r "$module/tests" "$1/tests"
	jar --create --file "$1/examples/jars/spark-examples_2.13-$version.jar" -C "$work/examples" .
}

# The submitter's home is not the image's: in the driver, spark-submit is Spark's.
homes() {
	home "$work/image-home"
	home "$work/home"
	if [ "$submit" = kubespark ]; then bin/kubespark install spark-submit --spark-home "$work/home"; fi
	if [ "$manager" = kubespark ]; then
		# Stock's submitter does not know the property that names the jar to ours.
		local key=spark.kubespark.jar
		if [ "$submit" = stock ]; then key=spark.driver.defaultExtraClassPath; fi
		echo "$key /opt/kubespark/kubespark.jar" >"$work/home/conf/spark-defaults.conf"
	fi
	mkdir -p "$work/path"
	printf '#!/bin/sh\nexec "%s" --state-dir "%s" kubectl "$@"\n' "$root/bin/kubespark-cluster" "$work/cluster" >"$work/path/kubectl"
	chmod +x "$work/path/kubectl"
}

# More CPUs than the machine has, because the suite's requests add up; its drivers run as the default account of a namespace
# that each test makes.
up() {
	local folder=bin image
	# Where there is no minikube, the suite takes every cluster for Docker Desktop's: the names of its node and storage class.
	cluster up --port "$port" --network "$network" --node-name docker-desktop --cpus 64 --memory 64Gi
	cluster kubectl create clusterrolebinding suite --clusterrole=edit --group=system:serviceaccounts
	cluster kubectl get storageclass standard -o json | sed 's/"standard"/"hostpath"/; /is-default-class/d' | cluster kubectl create -f -
	if [ "$manager" = stock ]; then folder=none; fi
	for image in spark spark-py; do
		cluster image build-spark --spark-home "$work/image-home" --kubespark "$folder" "local.test/$image:suite"
	done
}

# The folder of the volumes is the machine's and the node's in one. Executors, which are another user, write into a file that the suite
# makes there: it must be theirs to write, and a folder with a sticky bit (/tmp) would refuse them.
# Tests with the tags minikube (mounts through minikube's program, MinIO) and r (SparkR) are left out.
suite() {
	local classes=target/scala-2.13/test-classes
	cd "$module"
	[ -d $classes ] || classes=target/test-classes
	umask 0
	mkdir -p "$work/volume"
	export PVC_TESTS_HOST_PATH=$work/volume PVC_TESTS_VM_PATH=$work/volume
	KUBECONFIG=$work/cluster/kubeconfig PATH=$work/path:$PATH exec java -ea -Xmx2g -cp "$classes:$(cat "$work/classpath")" \
		-Dlog4j.configurationFile=file:src/test/resources/log4j2.properties -Djava.awt.headless=true \
		-Dspark.test.home="$checkout" -Dspark.kubernetes.test.deployMode=cloud -Dspark.kubernetes.test.unpackSparkDir="$work/home" \
		-Dspark.kubernetes.test.imageRepo=local.test -Dspark.kubernetes.test.imageTag=suite \
		org.scalatest.tools.Runner -R $classes -oDW -l minikube -l r \
		-s org.apache.spark.deploy.k8s.integrationtest.KubernetesSuite "$@"
}

part "build" make build
part "compile the suite" compile
part "compile the examples" examples
part "distributions" homes
part "cluster and images" up
part "suite" suite "$@"
parts_table

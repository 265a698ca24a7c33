#!/usr/bin/env bash
# What takes too long for every change: tests against third-party servers and programs, fetched at pinned versions.
# Each part is a function and a line at the end.
set -euo pipefail
cd "$(dirname "$0")/.."
. hack/lib.sh

azurite_version=3.35.0
hadoop_version=3.4.2
work=$(mktemp -d)
servers=()

finish() {
	local p
	for p in "${servers[@]}"; do kill "$p" 2>/dev/null || true; done
	rm -rf "$work"
}
trap finish EXIT

# wait_port PORT PID LOG: until somebody listens, at most a minute.
wait_port() {
	local i
	for i in $(seq 120); do
		(exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null && return 0
		kill -0 "$2" 2>/dev/null || break
		sleep 0.5
	done
	tail -20 "$3" >&2
	die "no server came up on port $1"
}

# start PORT LOG COMMAND…: a server that ends with this script.
start() {
	local port=$1 log=$2
	shift 2
	"$@" >"$log" 2>&1 &
	servers+=($!)
	wait_port "$port" $! "$log"
}

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

start_azurite() {
	need npm "install Node.js, for Azure's test server"
	local dir=$cache/azurite-$azurite_version port
	[ -x "$dir/node_modules/.bin/azurite-blob" ] || npm install --silent --no-audit --no-fund --prefix "$dir" "azurite@$azurite_version" >&2
	port=$(free_port)
	start "$port" "$work/azurite.log" "$dir/node_modules/.bin/azurite-blob" --silent --inMemoryPersistence --skipApiVersionCheck \
		--blobHost 127.0.0.1 --blobPort "$port"
	export KUBESPARK_TEST_AZURITE=127.0.0.1:$port
}

start_hdfs() {
	need mvn "install Maven, for Hadoop's mini cluster"
	local dir=$cache/hadoop-minicluster-$hadoop_version port
	if [ ! -f "$dir/.complete" ]; then
		mkdir -p "$dir"
		cat >"$dir/pom.xml" <<-EOF
			<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
			<groupId>test</groupId><artifactId>test</artifactId><version>1</version><dependencies><dependency>
			<groupId>org.apache.hadoop</groupId><artifactId>hadoop-client-minicluster</artifactId><version>$hadoop_version</version>
			</dependency></dependencies></project>
		EOF
		mvn -q -B -f "$dir/pom.xml" dependency:copy-dependencies -DoutputDirectory="$dir/lib" >&2
		touch "$dir/.complete"
	fi
	port=$(free_port)
	start "$port" "$work/hdfs.log" java -Xmx512m -Djava.net.preferIPv4Stack=true -Dtest.build.data="$work/hdfs" -cp "$dir/lib/*" \
		org.apache.hadoop.mapreduce.MiniHadoopClusterManager -nomr -format -nnport "$port"
	export KUBESPARK_TEST_HDFS=127.0.0.1:$port KUBESPARK_TEST_HDFS_USER=$(id -un)
}

upload_tests() { (cd internal/upload/servertest && go test -tags long -count=1 -timeout 10m -v .); }

shells() {
	KUBESPARK_SPARK_HOMES=4.2.0=$(hack/fetch-spark.sh 4.2.0) go test -tags 'spark sparklong' -count=1 -timeout 20m \
		-run 'TestShell|TestConnect' ./jvm/shimtest
}

# 500 pods with kills of pods, their processes and the node: nothing of them is left. Executors that are rolled.
long_e2e() { make build && hack/e2e.sh -tags e2e,e2elong -run 'TestNodeLeavesNothing|TestExecutorRollPlugin'; }

# One part, because a part is a subshell: the servers and their addresses end with it.
uploads() {
	trap finish EXIT
	start_azurite
	start_hdfs
	upload_tests
}

# As many pods and drivers as the scenarios name; the gate's race detector runs fewer.
full_size() { go test -tags long -count=1 -timeout 15m -run 'E111|E192|E224|E252|E280' ./cmd/kubespark-manager; }

simulation() { go test ./internal/executor/simulation -count=1 -timeout 60m -run 'TestSimulate$' -seeds 15000; }

part "executors at full size" full_size
part "simulation" simulation
part "uploads to real servers" uploads
part "spark-shell and the Connect server" shells
part "long end-to-end tests" long_e2e
parts_table

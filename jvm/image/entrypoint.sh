#!/usr/bin/env bash
# The entry point of a Spark image, with the contract of Spark's own: "driver …" runs spark-submit in client mode inside
# the pod, "executor" runs the executor's JVM, anything else is run as it is. Writes nothing outside /tmp.
set -euo pipefail

export SPARK_HOME=${SPARK_HOME:-/opt/spark}
export SPARK_SCALA_VERSION=2.13
java=java
if [[ -n ${JAVA_HOME:-} ]]; then java=$JAVA_HOME/bin/java; fi

use_class_data() { class_path=$1 class_data_options=(); } # without archives
# shellcheck source=class-data.sh
if [[ -f ${BASH_SOURCE[0]%/*}/class-data.sh ]]; then . "${BASH_SOURCE[0]%/*}/class-data.sh"; fi

# Hadoop wants a name for the user id that runs Spark.
name_user() {
  if ! id -un >/dev/null 2>&1 && [[ -w /etc/passwd ]]; then
    echo "$(id -u):x:$(id -u):$(id -g):anonymous uid:$SPARK_HOME:/bin/false" >>/etc/passwd
  fi
}

# The Python library of the distribution, for drivers and for executors' workers.
add_python() {
  local zip
  for zip in "$SPARK_HOME"/python/lib/*.zip; do
    if [[ -f $zip ]]; then PYTHONPATH=$zip${PYTHONPATH:+:$PYTHONPATH}; fi
  done
  if [[ -n ${PYTHONPATH:-} ]]; then export PYTHONPATH; fi
}

# submit_command ARG… - fills `command` as bin/spark-submit would run it. The launcher library works out memory, options
# and class path; taken alone instead of with every jar of Spark it starts three times as fast.
submit_command() {
  local jars launcher
  jars=$(compgen -G "$SPARK_HOME/jars/spark-launcher_*.jar"):$(compgen -G "$SPARK_HOME/jars/spark-common-utils-java_*.jar") || true
  if [[ $jars == :* || $jars == *: ]]; then
    command=("$SPARK_HOME/bin/spark-submit" "$@")
    return
  fi
  set +u # Spark's script and the user's spark-env.sh read what may not be set
  # shellcheck disable=SC1091
  . "$SPARK_HOME/bin/load-spark-env.sh"
  set -u
  export _SPARK_CMD_USAGE='Usage: spark-submit [options] <app jar | python file | R file> [app arguments]'
  mapfile -d '' -t command < <(
    "$java" -Xmx128m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC ${SPARK_LAUNCHER_OPTS:-} -cp "$jars" \
      org.apache.spark.launcher.Main org.apache.spark.deploy.SparkSubmit "$@"
    printf '%d\0' $?)
  launcher=${command[-1]}
  # Its messages come first; a NUL and a newline stand before the command.
  if [[ -n ${command[0]} ]]; then printf '%s\n' "${command[0]}" >&2; fi
  if [[ $launcher != 0 ]]; then exit 1; fi
  command=("${command[@]:1:${#command[@]}-2}")
  command[0]=${command[0]#$'\n'}
}

run_driver() {
  export SPARK_LOCAL_IP=${SPARK_LOCAL_IP:-${SPARK_DRIVER_BIND_ADDRESS:?is not set: the pod must give its own address}}
  submit_command \
    --conf "spark.driver.bindAddress=$SPARK_DRIVER_BIND_ADDRESS" \
    --conf "spark.executorEnv.SPARK_DRIVER_POD_IP=$SPARK_DRIVER_BIND_ADDRESS" \
    --deploy-mode client "$@"
  add_class_data
  exec "${command[@]}"
}

# add_class_data - has the JVM of `command`, as the launcher made it, start with a class-data archive.
add_class_data() {
  local i
  for ((i = 1; i < ${#command[@]} - 1; i++)); do
    if [[ ${command[i]} == -cp ]]; then
      use_class_data "${command[i + 1]}"
      command[i + 1]=$class_path
      # First, so that the user's own options win.
      command=("${command[0]}" ${class_data_options[@]+"${class_data_options[@]}"} "${command[@]:1}")
      return
    fi
  done
}

executor_class_path() {
  local path=${SPARK_CONF_DIR:-$SPARK_HOME/conf}
  if [[ -n ${HADOOP_CONF_DIR:-} ]]; then path+=:$HADOOP_CONF_DIR; fi
  if [[ -n ${SPARK_CLASSPATH:-} ]]; then path+=:$SPARK_CLASSPATH; fi
  path+=:$SPARK_HOME/jars/*
  if [[ -n ${SPARK_EXTRA_CLASSPATH:-} ]]; then path+=:$SPARK_EXTRA_CLASSPATH; fi
  echo "$path:$PWD${SPARK_DIST_CLASSPATH:+:$SPARK_DIST_CLASSPATH}"
}

run_executor() {
  export SPARK_LOCAL_IP=${SPARK_LOCAL_IP:-${SPARK_EXECUTOR_POD_IP:?is not set: the pod must give its own address}}
  local options=() name
  while read -r name; do options+=("${!name}"); done \
    < <(compgen -v SPARK_JAVA_OPT_ | grep -xE 'SPARK_JAVA_OPT_[0-9]+' | sort -t _ -k 4,4n)
  use_class_data "$(executor_class_path)"
  exec "$java" ${class_data_options[@]+"${class_data_options[@]}"} ${options[@]+"${options[@]}"} \
    "-Xms$SPARK_EXECUTOR_MEMORY" "-Xmx$SPARK_EXECUTOR_MEMORY" \
    -cp "$class_path" \
    org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend \
    --driver-url "$SPARK_DRIVER_URL" \
    --executor-id "$SPARK_EXECUTOR_ID" \
    --cores "$SPARK_EXECUTOR_CORES" \
    --app-id "$SPARK_APPLICATION_ID" \
    --hostname "$SPARK_EXECUTOR_POD_IP" \
    --resourceProfileId "${SPARK_RESOURCE_PROFILE_ID:-0}" \
    --podName "$SPARK_EXECUTOR_POD_NAME"
}

name_user
case ${1:-} in
  driver)
    add_python
    run_driver "${@:2}"
    ;;
  executor)
    add_python
    run_executor
    ;;
  *)
    exec "$@"
    ;;
esac

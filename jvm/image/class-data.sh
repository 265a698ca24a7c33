#!/usr/bin/env bash
# Makes the programs of a Spark image start sooner. Run as the image's last build step it makes class-data archives in
# /opt/class-data: the classes of Spark, parsed and laid out already, which a JVM maps instead of reading jars. And it adds bytecode
# to Spark's Python library, which every Python would else compile anew. The entry point reads this file to start JVMs with the
# archives. A JVM takes one only with the JDK and the jars that it was made of, in the order of its class path; else it starts as
# without one; likewise a Python with bytecode of another version.
class_data=${SPARK_CLASS_DATA:-/opt/class-data}

# spark_jars - the distribution's jars in the one order that archives are made with: as Spark's launcher has them, the API of
# the logging first, then by name.
spark_jars() {
  local LC_ALL=C jar first='' rest=''
  for jar in "$SPARK_HOME"/jars/*.jar; do
    case ${jar##*/} in
      slf4j-api-*) first+=:$jar ;;
      *) rest+=:$jar ;;
    esac
  done
  first+=$rest
  printf '%s' "${first#:}"
}

# use_class_data CLASS_PATH - sets `class_path` and `class_data_options`: an archive if one fits, else the path as it was. No
# folder may stand before an archive's jars, so the configuration moves behind them (see no_configuration).
use_class_data() {
  class_path=$1 class_data_options=()
  local conf=${SPARK_CONF_DIR:-$SPARK_HOME/conf} hadoop=${HADOOP_CONF_DIR:-/} jars='' lead='' tail='' entries entry archive
  IFS=: read -ra entries <<<"$1"
  for entry in "${entries[@]}"; do
    case $entry in
      "$conf" | "$conf/" | "$hadoop" | "$hadoop/") tail+=:$entry ;;
      "$SPARK_HOME/jars/slf4j-api-"*.jar) ;;
      "$SPARK_HOME/jars/*") jars=$(spark_jars) ;;
      *) if [[ -n $jars ]]; then tail+=:$entry; else lead+=$entry:; fi ;;
    esac
  done
  for archive in "$class_data"/*.jsa; do
    if [[ -f $archive && -n $jars && $lead$jars == "$(<"${archive%.jsa}.path")" ]]; then
      class_path=$lead$jars$tail
      class_data_options=("-XX:SharedArchiveFile=$archive" -Xshare:auto -Xlog:cds=off)
      return
    fi
  done
}

# What a folder of configuration may hold that a class path is searched for.
configuration='log4j2.properties log4j2.xml log4j2.yaml log4j2.json log4j.properties log4j.xml core-site.xml hdfs-site.xml
  hive-site.xml yarn-site.xml mapred-site.xml metrics.properties fairscheduler.xml commons-logging.properties'

# training - a program of what most applications do. It ends with an error if a jar holds a file of configuration: behind such a
# jar the user's own would not be found.
training() {
  cat <<PYTHON
import sys
from pyspark.sql import SparkSession, functions as F

spark = SparkSession.builder.getOrCreate()
find = spark.sparkContext._jvm.java.lang.ClassLoader.getSystemResource
taken = [n for n in """$configuration""".split() if find(n)]
if taken:
    sys.exit("A jar of Spark's holds " + ", ".join(taken) + ": with an archive it would come before the configuration's. None is made.")
spark.sparkContext.parallelize(range(100), 4).map(lambda n: (n % 3, n)).reduceByKey(lambda a, b: a + b).collect()
numbers = spark.range(0, 1000, 1, 4).withColumn("key", F.col("id") % 7)
numbers.write.parquet("$work/numbers")
read = spark.read.parquet("$work/numbers")
read.join(read.groupBy("key").agg(F.sum("id").alias("sum")), "key").orderBy("id").toJSON().take(3)
spark.sql("SELECT upper('a') a, map('k', 1) m, current_date() d").show()
spark.stop()
PYTHON
}

# record NAME COMMAND… - runs a command whose JVMs write the names of the classes that they load. What is listed counts; the last
# programs end with errors, for want of a cluster.
record() {
  SPARK_SUBMIT_OPTS="-XX:DumpLoadedClassList=$work/$1.classes" SPARK_CONF_DIR=$work/conf timeout "${limit:-120}" "${@:2}" >"$work/$1.log" 2>&1
}

# compile_python - puts bytecode into the zip files of Spark's Python library, where they lie, or into copies in /opt/class-data
# where that folder cannot be written to.
compile_python() {
  local python=$1 zip made=$class_data/python
  if [[ -w $SPARK_HOME/python/lib ]]; then made=$SPARK_HOME/python/lib; else mkdir -p "$made"; fi
  for zip in "$SPARK_HOME"/python/lib/*.zip; do
    "$python" - "$zip" "$work/compiled.zip" <<'PYTHON'
import os, py_compile, sys, tempfile, zipfile

source, target = sys.argv[1:]
with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new, tempfile.TemporaryDirectory() as folder:
    names = set(old.namelist())
    for entry in old.infolist():
        text = old.read(entry)
        new.writestr(entry, text)
        if not entry.filename.endswith(".py") or entry.filename + "c" in names:
            continue
        file = os.path.join(folder, "module.py")
        with open(file, "wb") as f:
            f.write(text)
        try:
            py_compile.compile(file, file + "c", dfile=os.path.join(source, entry.filename), doraise=True,
                               invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
        except py_compile.PyCompileError:
            continue  # of another version of Python: imported it fails as before
        new.write(file + "c", entry.filename + "c")
PYTHON
    chmod 644 "$work/compiled.zip"
    mv "$work/compiled.zip" "$made/${zip##*/}"
  done
}

make_class_data() {
  local java=${JAVA_HOME:+$JAVA_HOME/bin/}java python=${PYSPARK_PYTHON:-python3} name lead ours=/opt/kubespark/kubespark.jar
  export SPARK_LOCAL_IP=127.0.0.1 SPARK_LOCAL_HOSTNAME=localhost # while an image is built, its own name may not be known
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  mkdir "$work/conf"
  training >"$work/training.py"
  record driver "$SPARK_HOME/bin/spark-submit" --master 'local[2]' --conf spark.ui.port=0 \
    --conf "spark.sql.warehouse.dir=$work/warehouse" --conf "spark.pyspark.python=$python" "$work/training.py" ||
    { tail -n 5 "$work/driver.log" >&2; return 1; }
  limit=20 record backend "$java" "-XX:DumpLoadedClassList=$work/backend.classes" -cp "$SPARK_HOME/jars/*" \
    org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend --driver-url spark://CoarseGrainedScheduler@127.0.0.1:1 \
    --executor-id 1 --cores 1 --app-id a --hostname 127.0.0.1 --resourceProfileId 0 --podName p || true
  if [[ -f $ours ]]; then
    limit=30 record manager "$SPARK_HOME/bin/spark-submit" --master k8s://https://127.0.0.1:1 --conf "spark.driver.defaultExtraClassPath=$ours" \
      --conf spark.kubernetes.container.image=none --conf spark.ui.port=0 "$work/training.py" || true
  fi
  cat "$work"/*.classes | awk '!seen[$0]++' >"$work/all"
  mkdir -p "$class_data"
  if compgen -G "$SPARK_HOME/python/lib/*.zip" >/dev/null; then compile_python "$python"; fi
  for name in spark kubespark; do
    lead=$ours:
    if [[ $name == spark ]]; then lead=''; elif [[ ! -f $ours ]]; then continue; fi
    "$java" -Xshare:dump "-XX:SharedClassListFile=$work/all" "-XX:SharedArchiveFile=$class_data/$name.jsa" -Xlog:disable -Xlog:all=error:stderr \
      -cp "$lead$(spark_jars)"
    printf '%s' "$lead$(spark_jars)" >"$class_data/$name.path"
  done
}

if [[ ${BASH_SOURCE[0]} == "$0" ]]; then
  set -euo pipefail
  export SPARK_HOME=${SPARK_HOME:-/opt/spark}
  make_class_data
fi

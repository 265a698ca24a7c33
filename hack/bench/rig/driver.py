"""The stock driver under the benchmark: makes a SparkContext without executors, then does what its stdin says."""
import sys
import time

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway

# The JVM first: spark-submit's command line refuses a number of executors of 0, a SparkContext takes it.
SparkContext._ensure_initialized(gateway=launch_gateway())
conf = SparkConf().set("spark.executor.instances", "0").set("spark.ui.enabled", "false")
sc = SparkContext(conf=conf)


def say(*words):
    print("@", *words, flush=True)


say("ready", sc._jvm.java.lang.ProcessHandle.current().pid())
for line in sys.stdin:
    words = line.split()
    if words[0] == "request":
        say("requested", sc._jsc.sc().requestExecutors(int(words[1])))
    elif words[0] == "heap":
        for _ in range(3):
            sc._jvm.java.lang.System.gc()
            time.sleep(0.3)
        runtime = sc._jvm.java.lang.Runtime.getRuntime()
        say("heap", runtime.totalMemory() - runtime.freeMemory())
    elif words[0] == "stop":
        sc.stop()
        say("stopped")
        break

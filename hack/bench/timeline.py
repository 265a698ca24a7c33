"""A PySpark program that tells when its container started, its SparkContext was ready and its first task ran."""
import json
import os
import time

from pyspark import SparkContext


def container_start():
    """When the container's first process began: its age by the boot clock, in steps of 10 ms."""
    with open("/proc/1/stat") as f:
        began = int(f.read().rsplit(")", 1)[1].split()[19]) / os.sysconf("SC_CLK_TCK")
    return time.time() - (time.clock_gettime(time.CLOCK_BOOTTIME) - began)


container = container_start()
sc = SparkContext()
context = time.time()
task = sc.parallelize([0], 1).map(lambda _: time.time()).collect()[0]
print("TIMES", json.dumps({"container": container, "context": context, "task": task}), flush=True)
sc.stop()

"""Two stages with a resource profile each: the default one, then one with more memory and a custom resource.

usage: profiles.py SIGNALS TASKS
The second stage has TASKS tasks; each shows what it was given and ends when SIGNALS/release is there.
"""

import os
import sys
import time

from pyspark import TaskContext
from pyspark.resource import ExecutorResourceRequests, ResourceProfileBuilder, TaskResourceRequests
from pyspark.sql import SparkSession
from steps import Steps

spark = SparkSession.builder.getOrCreate()
sc = spark.sparkContext
folder, tasks = sys.argv[1], int(sys.argv[2])
steps = Steps(folder, sc)

executors = ExecutorResourceRequests().cores(1).memory("768m").resource("gpu", 1, "/apps/gpus.sh", "example.com")
profile = ResourceProfileBuilder().require(executors).require(TaskResourceRequests().cpus(1).resource("gpu", 1)).build


def place(_):
    return os.environ["SPARK_EXECUTOR_POD_NAME"], os.environ["SPARK_EXECUTOR_MEMORY"]


def accelerated(x):
    gpus = TaskContext.get().resources()["gpu"]
    open(f"{folder}/task-{x}", "w").close()
    while not os.path.exists(f"{folder}/release"):
        time.sleep(0.1)
    return place(x) + (gpus.name, tuple(gpus.addresses))


steps.wait_for("plain")
print(f"plain tasks ran on {sorted(set(sc.parallelize(range(2), 2).map(place).collect()))}", flush=True)
steps.say("plained")
rdd = sc.parallelize(range(tasks), tasks).map(accelerated).withResources(profile)
for pod, memory, name, addresses in sorted(set(rdd.collect())):
    print(f"accelerated task ran on {pod} with {memory} and {name} {','.join(addresses)}", flush=True)
spark.stop()

"""Runs one task on each of two executors; the tasks end when SIGNALS/release is there.

usage: stuck.py SIGNALS
Each start of a task leaves a file SIGNALS/task-<n>-<executor's pod>.
"""

import os
import sys
import time

from pyspark.sql import SparkSession
from steps import Steps

spark = SparkSession.builder.getOrCreate()
sc = spark.sparkContext
steps = Steps(sys.argv[1], sc)
folder = sys.argv[1]


def hang(x):
    open(f"{folder}/task-{x}-{os.environ['SPARK_EXECUTOR_POD_NAME']}", "w").close()
    while not os.path.exists(f"{folder}/release"):
        time.sleep(0.1)
    return x


steps.wait("two executors", lambda: steps.registered() == 2)
steps.say("ready")
got = sorted(sc.parallelize([1, 2], 2).map(hang).collect())
assert got == [1, 2], got
print("tasks are right", flush=True)
spark.stop()

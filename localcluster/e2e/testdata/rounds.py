"""Runs small shuffles until told to stop, then prints a checked result.

usage: rounds.py SIGNALS EXECUTORS
Writes SIGNALS/running once EXECUTORS executors have registered and a first round is done, and ends after SIGNALS/stop
appears. While SIGNALS/oom-<n> exists and nobody took it yet, one task makes its executor's JVM exceed the container's
memory limit.
"""

import os
import sys
import time
from operator import add

from pyspark.sql import SparkSession

signals, executors = sys.argv[1], int(sys.argv[2])
spark = SparkSession.builder.getOrCreate()
sc = spark.sparkContext


def registered():
    return sc._jsc.sc().getExecutorMemoryStatus().size() - 1


def exceed_memory(_):
    """Grows past the cgroup's limit, after making the JVM (PID 1) the kernel's first choice."""
    try:
        os.rename(f"{signals}/oom", f"{signals}/oom-taken")
    except OSError:
        return 0
    with open("/proc/1/oom_score_adj", "w") as f:
        f.write("1000")
    hoard = []
    while True:
        hoard.append(bytearray(16 << 20))


def one_round(n=8):
    return sc.parallelize(range(1000), n).map(lambda x: (x % 7, x)).reduceByKey(add).values().sum()


deadline = time.time() + 240
while registered() < executors and time.time() < deadline:
    time.sleep(0.2)
print(f"executors registered: {registered()}", flush=True)

total, rounds = one_round(), 1
open(f"{signals}/running", "w").close()
while not os.path.exists(f"{signals}/stop") and time.time() < deadline:
    if os.path.exists(f"{signals}/oom"):
        sc.parallelize(range(2), 2).map(exceed_memory).count()
    total += one_round()
    rounds += 1
    with open(f"{signals}/executors.tmp", "w") as f:
        f.write(str(registered()))
    os.rename(f"{signals}/executors.tmp", f"{signals}/executors")
    time.sleep(0.2)

assert total == rounds * sum(range(1000)), f"wrong total {total} after {rounds} rounds"
print(f"rounds are right: {rounds}", flush=True)
spark.stop()

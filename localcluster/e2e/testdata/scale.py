"""Works in bursts, with nothing to do between them.

usage: scale.py SIGNALS BURSTS
A burst begins at SIGNALS/work-<n>, needs three executors and ends with SIGNALS/worked-<n>. Its result is kept until SIGNALS/forget-<n>; then the
driver forgets the shuffle, and its files are nobody's any more.
"""

import gc
import sys
import time
from operator import add

from pyspark.sql import SparkSession
from steps import Steps

spark = SparkSession.builder.getOrCreate()
sc = spark.sparkContext
folder = sys.argv[1]
steps = Steps(folder, sc)


def together(x):
    """A task that ends when three executors are at work."""
    until = time.time() + 120
    while int(open(f"{folder}/executors").read()) < 3:
        assert time.time() < until, "three executors did not come"
        time.sleep(0.1)
    time.sleep(0.2)
    return x % 7, x


def burst():
    shuffled = sc.parallelize(range(24), 24).map(together).reduceByKey(add, 4)
    total = shuffled.values().sum()
    assert total == sum(range(24)), f"wrong total {total}"
    return shuffled


def collect_garbage():
    gc.collect()
    sc._jvm.System.gc()
    time.sleep(0.5)


steps.say("up", steps.registered())
for n in range(1, int(sys.argv[2]) + 1):
    steps.wait_for(f"work-{n}")
    kept = burst()
    steps.say(f"worked-{n}", steps.registered())
    steps.wait_for(f"forget-{n}")
    kept = None
    steps.wait("the executors go", lambda: steps.registered() == 0, collect_garbage)
    steps.say(f"idle-{n}")
print(f"bursts are right: {sys.argv[2]}", flush=True)
spark.stop()

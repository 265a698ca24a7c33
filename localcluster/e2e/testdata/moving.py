"""Keeps a cached RDD and a shuffle while executors come and go, and reads both again without making them again.

usage: moving.py SIGNALS
Says SIGNALS/ready when both are there, computes until SIGNALS/moved, reads them in the job group "again".
"""

import sys
import time
from operator import add

from pyspark.sql import SparkSession
from steps import Steps

spark = SparkSession.builder.getOrCreate()
sc = spark.sparkContext
steps = Steps(sys.argv[1], sc)
computed = sc.accumulator(0)


def compute(x):
    computed.add(1)
    return x


def slowly(x):
    time.sleep(0.3)
    return x


steps.wait("two executors", lambda: steps.registered() == 2)
cached = sc.parallelize(range(80), 8).map(compute).cache()
shuffled = sc.parallelize(range(80), 8).map(lambda x: (x % 7, x)).reduceByKey(add, 4)


def read():
    got = cached.sum(), shuffled.values().sum(), computed.value
    assert got == (sum(range(80)), sum(range(80)), 80), got


def rounds():
    assert sc.parallelize(range(4), 4).map(slowly).sum() == 6


sc.setJobGroup("first", "make the blocks")
read()
steps.say("ready")
sc.setJobGroup("rounds", "tasks that run while executors come and go")
steps.wait_for("moved", rounds)
sc.setJobGroup("again", "read the blocks")
read()
print(f"Final accumulator value is: {computed.value}", flush=True)
spark.stop()

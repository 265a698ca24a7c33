"""Keeps two shuffles on the executors' volumes, and reads them when all executors have been replaced.

usage: recovered.py SIGNALS
Says SIGNALS/ready when both are there, and waits for SIGNALS/lost. New executors find old shuffle files when they write
their first own ones, so a job with another shuffle goes first. Then both are read again in the job group "again".
Says SIGNALS/read and waits for SIGNALS/lost-again. The first job is then one that needs the first shuffle, in the job group
"recomputed"; the second shuffle is read in the job group "kept".
"""

import sys
import time
from operator import add

from pyspark.sql import SparkSession
from steps import Steps

spark = SparkSession.builder.getOrCreate()
sc = spark.sparkContext
steps = Steps(sys.argv[1], sc)
MAPS = 6


def slowly(numbers):
    time.sleep(0.3)  # so that each executor gets some of the tasks
    return ((x % 7, x) for x in numbers)


def shuffle():
    return sc.parallelize(range(60), MAPS).mapPartitions(slowly).reduceByKey(add, 4).values()


def read(group, rdd):
    sc.setJobGroup(group, group)
    total = rdd.sum()
    assert total == sum(range(60)), f"wrong total {total}"


def outputs(shuffle_id):
    """How many map outputs of a shuffle the driver knows."""
    return sc._jvm.org.apache.spark.SparkEnv.get().mapOutputTracker().getNumAvailableOutputs(shuffle_id)


def lost():
    """All executors are others than before, and the driver knows that the outputs went with the old ones."""
    return outputs(0) == 0 and outputs(1) == 0 and steps.registered() == 2


steps.wait("two executors", lambda: steps.registered() == 2)
first, second = shuffle(), shuffle()
read("first", first)
read("first", second)
assert outputs(0) == MAPS and outputs(1) == MAPS
steps.say("ready")

steps.wait_for("lost")
steps.wait("the outputs are lost", lost)
read("other", shuffle())
steps.wait("the shuffles come back", lambda: outputs(0) == MAPS and outputs(1) == MAPS)
read("again", first)
read("again", second)
steps.say("read")

steps.wait_for("lost-again")
steps.wait("the outputs are lost again", lost)
read("recomputed", first)
steps.wait("the second shuffle comes back", lambda: outputs(1) == MAPS)
read("kept", second)
print("shuffles are right", flush=True)
spark.stop()

"""Makes shuffle blocks and waits while an executor is decommissioned. Recomputed tasks would add to the accumulator again.

usage: decommission.py SECONDS [SHUFFLES]; more shuffles are made, used once and forgotten.
"""
import sys
import time

from pyspark.sql import SparkSession

if __name__ == "__main__":
    seconds = int(sys.argv[1])
    shuffles = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    spark = SparkSession.builder.getOrCreate()
    context = spark.sparkContext
    counter = context.accumulator(0)

    def count(x):
        counter.add(1)
        return x

    groups = context.parallelize(range(100), 5).map(count).map(lambda x: (x, x)).groupByKey()
    for _ in range(shuffles):
        context.parallelize(range(10), 5).map(lambda x: (x, x)).groupByKey().count()
    groups.count()
    print("First count:", counter.value, flush=True)
    print("Ready for the decommissioning of executor 1", flush=True)
    time.sleep(seconds)
    groups.count()
    print("Last count:", counter.value, flush=True)
    print("Waited long enough, stopping", flush=True)
    spark.stop()

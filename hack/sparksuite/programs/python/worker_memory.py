"""Compares the address space limit of an executor's Python worker with the argument, in bytes."""
import resource
import sys

from pyspark.sql import SparkSession

if __name__ == "__main__":
    spark = SparkSession.builder.getOrCreate()
    [limit] = spark.sparkContext.parallelize([0], 1).map(lambda _: resource.getrlimit(resource.RLIMIT_AS)[0]).collect()
    print("Worker's memory limit is %d, as wanted: %s" % (limit, limit == int(sys.argv[1])))
    spark.stop()

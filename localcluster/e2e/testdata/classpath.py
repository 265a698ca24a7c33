"""Prints the driver's class path after a job with executors."""

from operator import add

from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
sc = spark.sparkContext
assert sc.parallelize(range(100), 4).reduce(add) == 4950
print("class path:", sc._jvm.java.lang.System.getProperty("java.class.path"), flush=True)
spark.stop()

"""Ends with the exit code it is given, after a Spark job."""

import sys

from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
spark.sparkContext.parallelize(range(10), 2).count()
spark.stop()
sys.exit(int(sys.argv[1]))

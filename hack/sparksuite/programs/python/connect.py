"""A program against the Connect server that the driver starts: a function runs in an executor's Python."""
import sys

from pyspark.sql import SparkSession
from pyspark.sql.functions import udf
from pyspark.sql.types import StringType

if __name__ == "__main__":
    spark = SparkSession.builder.config("spark.api.mode", "connect").master(sys.argv[1]).getOrCreate()
    print("Session:", type(spark).__module__)
    version = udf(lambda _: "%d.%d" % sys.version_info[:2], StringType())
    [row] = spark.range(1).select(version("id")).collect()
    print("Executor's Python is the driver's:", row[0] == "%d.%d" % sys.version_info[:2])
    spark.stop()

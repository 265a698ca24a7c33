"""Says which interpreters the driver and the executors run by; the wrapper in the archive sets SUITE_WRAPPER."""
import os

from pyspark.sql import SparkSession

if __name__ == "__main__":
    spark = SparkSession.builder.getOrCreate()
    [wrapped] = spark.sparkContext.parallelize([0], 1).map(lambda _: "SUITE_WRAPPER" in os.environ).collect()
    print("PYSPARK_PYTHON is", os.environ.get("PYSPARK_PYTHON"))
    print("PYSPARK_DRIVER_PYTHON is", os.environ.get("PYSPARK_DRIVER_PYTHON"))
    print("Executor runs the archive's Python:", wrapped)
    print("Driver runs the archive's Python:", "SUITE_WRAPPER" in os.environ)
    spark.stop()

"""Uses a module of --py-files on the driver and on an executor. The argument is the interpreter's name."""
import sys

from pyspark.sql import SparkSession

if __name__ == "__main__":
    spark = SparkSession.builder.getOrCreate()
    from python_facts import interpreter, version

    def on_executor(_):
        from python_facts import version
        return version()

    print("Driver's interpreter is the wanted one:", interpreter() == sys.argv[1])
    print("Driver's Python is version 3:", version().startswith("3."))
    [there] = spark.sparkContext.parallelize([0], 1).map(on_executor).collect()
    print("Executor's Python is the driver's:", there == version())
    spark.stop()

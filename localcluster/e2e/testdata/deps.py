"""Reads what came by --py-files, --files and --archives, in the driver and in the executors, and says so.

usage: deps.py
"""

import helper
from packed import inner
from pyspark import SparkFiles
from pyspark.sql import SparkSession

sc = SparkSession.builder.getOrCreate().sparkContext


def read(_):
    import helper
    from packed import inner

    with open(SparkFiles.get("data.txt")) as f:
        data = f.read()
    with open(SparkFiles.get("unpacked") + "/deep/file.txt") as f:
        archived = f.read()
    return ",".join([helper.NAME, inner.NAME, data, archived])


print("driver read", read(0))
print("executors read", sorted(set(sc.parallelize(range(8), 8).map(read).collect())))
print("modules", helper.NAME, inner.NAME)

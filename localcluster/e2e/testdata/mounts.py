"""Reads a Secret as a file and as a variable, and writes to a claim's volume, in the driver and in the executors.

usage: mounts.py
"""

import os

from pyspark.sql import SparkSession

sc = SparkSession.builder.getOrCreate().sparkContext


def look(n):
    with open("/secrets/password") as f:
        password = f.read()
    with open(f"/claim/{n}", "w") as f:
        f.write("kept")
    with open(f"/claim/{n}") as f:
        return ",".join([password, os.environ["PASSWORD"], f.read(), str(os.path.ismount("/claim"))])


print("driver saw", look("driver"))
print("executors saw", sorted(set(sc.parallelize(range(8), 8).map(look).collect())))

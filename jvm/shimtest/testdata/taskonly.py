"""Runs a job under a resource profile that asks for nothing but task resources. Prints where its tasks ran."""
import os

from pyspark import SparkContext
from pyspark.resource import ResourceProfileBuilder, TaskResourceRequests

sc = SparkContext(appName="task-only")
profile = ResourceProfileBuilder().require(TaskResourceRequests().cpus(1)).build
rdd = sc.parallelize(range(8), 4).withResources(profile)
ran = rdd.map(lambda x: (x * x, os.environ["SPARK_EXECUTOR_ID"])).collect()
print("profile %d: sum is %d, on executors %s" % (
    profile.id, sum(x for x, _ in ran), ",".join(sorted({e for _, e in ran}))), flush=True)
sc.stop()

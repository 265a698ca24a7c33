"""Gives its two executors orders by hand: more, fewer, killed, decommissioned."""
import os
import time

from pyspark import SparkContext

sc = SparkContext(appName="orders")
inner = sc._jsc.sc()
backend = inner.schedulerBackend()


def registered():
    return inner.getExecutorMemoryStatus().size() - 1


def until(n):
    deadline = time.time() + 100
    while registered() != n:
        assert time.time() < deadline, "%d executors instead of %d" % (registered(), n)
        time.sleep(0.1)


until(2)
inner.requestExecutors(1)
time.sleep(1)  # a newer target may silence one that is not sent yet
inner.killExecutor("1")
until(1)
none = sc._jvm.scala.Option.empty()
info = sc._jvm.org.apache.spark.scheduler.ExecutorDecommissionInfo("by hand", none)
backend.decommissionExecutor("2", info, False, True)  # as the executor itself says
backend.decommissionExecutor("2", info, False, False)
print("orders are given", flush=True)
time.sleep(2)
sc.stop()

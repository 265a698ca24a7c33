"""Has Spark's plug-in for claims look at them once, as it does every few minutes, and waits for the one for memory.

usage: resize.py FINISH
"""
import os
import sys
import time

from pyspark import SparkContext

sc = SparkContext(appName="resize")
k8s = sc._jvm.org.apache.spark.scheduler.cluster.k8s
plugin = k8s.ExecutorPVCResizePlugin().driverPlugin()
if plugin.init(sc._jsc.sc(), None).size() > 0:  # what it tells its executors
    plugin.receive(k8s.PVCDiskUsageReport("1", 0.95))
    plugin.checkAndResizePVCs()
plugin.shutdown()
print("the claims were looked at", flush=True)
deadline = time.time() + 100
while not os.path.exists(sys.argv[1]) and time.time() < deadline:
    time.sleep(0.1)
sc.stop()

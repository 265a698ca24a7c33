"""Waits, for tests of how a driver ends."""
import time

from pyspark import SparkContext

sc = SparkContext(appName="idle")
print("the context is made", flush=True)
time.sleep(60)

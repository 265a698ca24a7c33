"""Changes its target again and again while nobody reads, and prints the longest call in milliseconds.

usage: requests.py FINISH
"""
import os
import sys
import time

from pyspark import SparkContext

sc = SparkContext(appName="requests")
inner = sc._jsc.sc()
longest = 0.0
for _ in range(3000):
    began = time.time()
    inner.requestExecutors(1)
    longest = max(longest, time.time() - began)
print("longest call %d ms" % (longest * 1000), flush=True)
deadline = time.time() + 120
while not os.path.exists(sys.argv[1]) and time.time() < deadline:
    time.sleep(0.1)
sc.stop()

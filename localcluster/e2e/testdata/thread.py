"""Makes its SparkContext on a thread that ends, then goes on working for some seconds."""

import threading
import time
from operator import add

from pyspark import SparkContext

made = []
maker = threading.Thread(target=lambda: made.append(SparkContext()))
maker.start()
maker.join()
sc = made[0]
# The JVM ends the thread that served the Python thread as well.
for _ in range(20):
    assert sc.parallelize(range(100), 4).reduce(add) == 4950
    time.sleep(0.5)
print("the context outlived its thread", flush=True)
sc.stop()

"""Makes its SparkContext on a thread that ends, then works on after a while."""
import threading
import time

from pyspark import SparkContext

made = []
maker = threading.Thread(target=lambda: made.append(SparkContext(appName="thread")))
maker.start()
maker.join()
time.sleep(3)
print("sum is", made[0].parallelize(range(8), 2).sum(), flush=True)
made[0].stop()

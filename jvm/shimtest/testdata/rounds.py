"""Runs small jobs until the file that is named appears; prints what each round must give."""
import os
import sys
import time

from pyspark import SparkContext

sc = SparkContext(appName="rounds")
deadline = time.time() + 150
rounds = 0
while True:
    total = sc.parallelize(range(8), 4).map(lambda x: x * x).sum()
    rounds += 1
    if total != 140:
        sys.exit("round %d gave %d" % (rounds, total))
    if os.path.exists(sys.argv[1]):
        break
    if time.time() > deadline:
        sys.exit("the file %s did not appear" % sys.argv[1])
print("rounds are right", flush=True)
sc.stop()

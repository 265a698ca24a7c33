"""Two SparkContexts, one after the other, in one JVM."""
from pyspark import SparkConf, SparkContext

for turn in ("first", "second"):
    sc = SparkContext(conf=SparkConf().setAppName(turn))
    print(turn, "sum is", sc.parallelize(range(8), 2).sum(), flush=True)
    sc.stop()

"""Makes shuffle blocks and idles, so that dynamic allocation lets executors go."""
import sys
import time

from pyspark.sql import SparkSession

if __name__ == "__main__":
    spark = SparkSession.builder.getOrCreate()
    groups = spark.sparkContext.parallelize(range(100), 5).map(lambda x: (x, x)).groupByKey()
    print("Groups before the wait:", groups.count(), flush=True)
    time.sleep(int(sys.argv[1]))
    print("Groups after the wait:", groups.count(), flush=True)
    print("Waited long enough, stopping", flush=True)
    spark.stop()

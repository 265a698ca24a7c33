"""Prints what its driver was started with."""
import sys

from pyspark import SparkContext

sc = SparkContext(appName="options")
print("option is %s, memory is %s, bind address is %s, argument is %s" % (
    sc._jvm.java.lang.System.getProperty("my.opt"), sc.getConf().get("spark.driver.memory"),
    sc.getConf().get("spark.driver.bindAddress"), sys.argv[1]), flush=True)
sc.stop()

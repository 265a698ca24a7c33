"""Lets an executor register while its SparkContext is stopped, and again while it is not. Prints what the driver answers."""
from py4j.protocol import Py4JJavaError
from pyspark import SparkContext

sc = SparkContext(appName="late")
inner = sc._jsc.sc()
jvm = sc._jvm
endpoint = inner.schedulerBackend().driverEndpoint()
cluster = jvm.org.apache.spark.scheduler.cluster
register = getattr(cluster, "CoarseGrainedClusterMessages$RegisterExecutor")


def companion(package, name):
    return getattr(getattr(package, name + "$"), "MODULE$")


empty = companion(jvm.scala.collection.immutable, "Map").empty()
anything = companion(jvm.scala.reflect, "ClassTag").Any()


def answer(id):
    message = register(id, endpoint, "127.0.0.1", 1, empty, empty, empty, 0)
    three = jvm.scala.concurrent.duration.FiniteDuration(3, jvm.java.util.concurrent.TimeUnit.SECONDS)
    limit = jvm.org.apache.spark.rpc.RpcTimeout(three, "none")
    try:
        return str(endpoint.askSync(message, limit, anything)).lower()
    except Py4JJavaError as e:
        texts, cause = [], e.java_exception
        while cause is not None:
            texts.append(str(cause))
            cause = cause.getCause()
        return " <- ".join(texts)


def say(when, id):
    print("%s: %s" % (when, answer(id).replace("\n", " ")), flush=True)


say("running", "7")
inner.stopped().set(True)
say("stopped", "8")
inner.stopped().set(False)
say("running again", "7")
print("registered:", inner.schedulerBackend().getExecutorIds().mkString(","), flush=True)
sc.stop()

"""Makes one SparkContext after the other, one for each set of properties in a JSON list, and prints what each is like.

usage: contexts.py FILE
"""
import json
import sys

from pyspark import SparkConf, SparkContext


def look(settings):
    conf = SparkConf()
    for key, value in settings.items():
        conf.set(key, value)
    try:
        sc = SparkContext(conf=conf)
    except Exception as e:  # what the user sees
        texts, cause = [str(e)], getattr(e, "java_exception", None)
        while cause is not None:
            texts.append(str(cause))
            cause = cause.getCause()
        return {"error": " <- ".join(texts)}
    try:
        inner = sc._jsc.sc()
        backend = inner.schedulerBackend()
        seen = {
            "ids": [sc.applicationId, backend.applicationId(), backend.applicationId()],
            "backend": backend.getClass().getName(),
            "maxFailures": inner.taskScheduler().maxTaskFailures(),
            "parallelism": sc.defaultParallelism,
        }
        if backend.getClass().getSimpleName() == "KubernetesClusterSchedulerBackend":
            seen["readyAt"] = sc._jvm.org.example.Ready.at(backend)
            seen["hold"] = backend.supportsExecutorHold()
            seen["tokens"] = backend.createTokenManager().get().getClass().getSimpleName()
        return seen
    finally:
        sc.stop()


with open(sys.argv[1]) as f:
    cases = json.load(f)
for case in cases:
    print("CONTEXT " + json.dumps(look(case)), flush=True)

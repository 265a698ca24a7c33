"""Prints, as JSON, what its two executors told of themselves."""
import json
import time

from pyspark import SparkContext

sc = SparkContext(appName="attributes")
inner = sc._jsc.sc()
deadline = time.time() + 100
while inner.getExecutorMemoryStatus().size() < 3:
    assert time.time() < deadline, "two executors"
    time.sleep(0.1)
time.sleep(1)  # the listener hears of them a moment later


def plain(m):
    pairs = m.toSeq()
    return {pairs.apply(i)._1(): pairs.apply(i)._2() for i in range(pairs.size())}


all = inner.statusStore().executorList(True)
for e in (all.apply(i) for i in range(all.size())):
    if e.id() != "driver":
        print("EXECUTOR " + json.dumps({"id": e.id(), "attributes": plain(e.attributes()), "logs": plain(e.executorLogs())}), flush=True)
sc.stop()

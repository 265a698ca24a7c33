#!/bin/sh
# What Spark's executor runs to learn its devices: one, named after the pod.
echo "{\"name\": \"gpu\", \"addresses\": [\"of-$SPARK_EXECUTOR_POD_NAME\"]}"

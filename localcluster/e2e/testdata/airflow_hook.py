"""Runs a Spark application by Airflow's SparkSubmitHook and prints what the hook learned as a line of JSON.

usage: airflow_hook.py ACTION APPLICATION [ARGUMENT...]
ACTION is run, kill (ends the application once the file $SIGNALS/running is there) or track (submits without waiting and
polls the driver pod). The hook's keyword arguments come as JSON in HOOK.
"""

import json
import os
import sys
import threading
import time

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook

action, application, arguments = sys.argv[1], sys.argv[2], sys.argv[3:]
hook = SparkSubmitHook(application_args=arguments, track_driver_via_k8s_api=action == "track", **json.loads(os.environ["HOOK"]))
result = {"error": "", "phase": ""}


def submit():
    try:
        hook.submit(application)
    except Exception as e:
        result["error"] = str(e)


def kill_when_running():
    thread = threading.Thread(target=submit)
    thread.start()
    deadline = time.time() + 120
    while not os.path.exists(os.path.join(os.environ["SIGNALS"], "running")) and time.time() < deadline:
        time.sleep(0.2)
    hook.on_kill()
    thread.join()


if action == "kill":
    kill_when_running()
else:
    submit()
if action == "track" and not result["error"]:
    result["phase"] = hook._poll_k8s_driver_via_api()
result.update(pod=hook._kubernetes_driver_pod, app=hook._kubernetes_application_id, exit_code=hook._spark_exit_code)
print("RESULT " + json.dumps(result), flush=True)

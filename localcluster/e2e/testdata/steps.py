"""How a test and its application talk: files in a folder that both see. For the driver only."""

import os
import threading
import time

DEADLINE = time.time() + 240


class Steps:
    def __init__(self, folder, sc):
        self.folder, self.sc = folder, sc
        threading.Thread(target=self.report, daemon=True).start()

    def report(self):
        """Tells the test, and tasks that want to know, how many executors there are."""
        while True:
            try:
                self.say("executors", self.registered())
            except Exception:  # the context has been stopped
                return
            time.sleep(0.2)

    def registered(self):
        """The number of executors that Spark knows."""
        return self.sc._jsc.sc().getExecutorMemoryStatus().size() - 1

    def say(self, name, text=""):
        """Writes in one step, so that the test reads all or nothing."""
        path = f"{self.folder}/{name}"
        with open(path + ".tmp", "w") as f:
            f.write(str(text))
        os.rename(path + ".tmp", path)

    def wait(self, what, condition, meanwhile=lambda: time.sleep(0.1)):
        while not condition():
            assert time.time() < DEADLINE, f"timed out: {what}"
            meanwhile()

    def wait_for(self, name, meanwhile=lambda: time.sleep(0.1)):
        self.wait(f"the test says {name}", lambda: os.path.exists(f"{self.folder}/{name}"), meanwhile)

"""Runs a command and writes what it took to descriptor 3. It is the small parent of rig.RunApart."""
import json
import os
import sys
import time

os.set_inheritable(3, False)
began = time.time()
clock = time.monotonic()
pid = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ)
_, status, used = os.wait4(pid, 0)
wall = time.monotonic() - clock
with os.fdopen(3, "w") as out:
    json.dump({"began": began, "wall": wall, "cpu": used.ru_utime + used.ru_stime, "peakKiB": used.ru_maxrss}, out)
code = os.waitstatus_to_exitcode(status)
sys.exit(code if code >= 0 else 128 - code)

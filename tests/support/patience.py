# SPDX-License-Identifier: Apache-2.0
"""For tests on a machine that has other work: wait for what happens, not for a time."""
import os
import re
import subprocess
import time
import urllib.request

LONG = 120  # s; what takes a moment may take this long, and only a test that fails waits so long for it


def until(what, limit=LONG, pause=0.02):
    """The first true value of what()."""
    end = time.monotonic() + limit
    while True:
        value = what()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"it did not come true within {limit} s")
        time.sleep(pause)


def again(attempt, tries=3):
    """attempt() until it holds, where nothing but the punctuality of this machine is in doubt: a defect fails every time."""
    for left in reversed(range(tries)):
        try:
            return attempt()
        except AssertionError as e:
            if not left:
                raise
            print("# once more:", str(e).strip().splitlines()[-1][:200] if str(e).strip() else "", flush=True)
    return None


def begun(child, path):
    """Until the recording of child has its file and writes to it."""
    def there():
        assert child.poll() is None, f"it ended with {child.returncode} before it began"
        return os.path.exists(path) and os.path.exists(path + "-wal") and os.path.getsize(path + "-wal")
    until(there)


def metric(url, name):
    """The sum of a metric of the simulated engine, 0 where it has none."""
    with urllib.request.urlopen(url + "/metrics", timeout=LONG) as r:
        text = r.read().decode()
    return sum(float(x) for x in re.findall(rf"(?m)^{re.escape(name)}(?:\{{[^}}]*\}})? (\S+)$", text))


def answered(child, url, least=8):
    """Until the engine at url has answered so many requests, more than those that look at it before a load."""
    def enough():
        assert child.poll() is None, f"it ended with {child.returncode} before there was a load"
        return metric(url, "vllm:request_success_total") >= least
    until(enough, pause=0.05)


def nobody_runs(program):
    """Whether another user than root may run the program where it lies."""
    try:
        return subprocess.run([program, "version"], user=65534, capture_output=True, check=False).returncode == 0
    except (PermissionError, ValueError):
        return False

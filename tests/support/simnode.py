# SPDX-License-Identifier: Apache-2.0
"""A simulated node that the tests of a class share."""
import json
import os
import re
import subprocess
import time
import unittest
import urllib.request

JOULEMARK = os.environ["JOULEMARK"]


class NodeCase(unittest.TestCase):
    NODE = ()  # arguments of joulemark sim node

    @classmethod
    def setUpClass(cls):
        cls.node = subprocess.Popen([JOULEMARK, "sim", "node", *cls.NODE], stdout=subprocess.PIPE, text=True)
        cls.where = json.loads(cls.node.stdout.readline())
        cls.env = dict(os.environ, JOULEMARK_SIM_GPU=cls.where["state"], JM_NVML_LIB=cls.where["lib"])

    @classmethod
    def tearDownClass(cls):
        cls.node.terminate()
        cls.node.communicate()

    def await_load(self, child, least=8, limit=300):
        """Until the engine has so many requests of child at once, more than a probe before the load, however long that takes here."""
        end = time.monotonic() + limit
        while child.poll() is None and time.monotonic() < end:
            with urllib.request.urlopen(self.where["url"] + "/metrics", timeout=limit) as r:
                running = re.search(r"(?m)^vllm:num_requests_running\S* (\S+)$", r.read().decode())
            if float(running.group(1)) >= least:
                return
            time.sleep(0.05)
        self.fail(f"no load came; the status of the load is {child.poll()}")

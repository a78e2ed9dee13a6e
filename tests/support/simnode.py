# SPDX-License-Identifier: Apache-2.0
"""A simulated node that the tests of a class share."""
import json
import os
import subprocess
import unittest

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

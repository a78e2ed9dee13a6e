#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The meter ipmi, by the real ipmitool over RMCP+, against a BMC of PyPI's pyghmi that answers DCMI."""
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest

import pypi
import tap

JOULEMARK = os.environ["JOULEMARK"]
PYTHON, WHY = pypi.prepare("ipmi", "pyghmi==1.5.67", "pyghmi") if shutil.which("ipmitool") else (None, "no ipmitool")

BMC = """
import sys
from pyghmi.ipmi.bmc import Bmc

class Dcmi(Bmc):
    asked = 0

    def handle_raw_request(self, request, session):
        if request["netfn"] == 0x2c and request["command"] == 2:
            if bytes(request["data"]) != bytes.fromhex("dc010000"):
                session.send_ipmi_response(code=0xcc)
            else:
                session.send_ipmi_response(data=list(bytes.fromhex("dc4c014400f8015c01de250c6be803000040")))
        else:
            super().handle_raw_request(request, session)

Dcmi({"reader": "s3cr3t-word"}, port=int(sys.argv[1]), address="::ffff:127.0.0.1" if len(sys.argv) > 2 else "::").listen()
"""


class Bmc(unittest.TestCase):
    def meters(self, port, env):
        with tempfile.TemporaryDirectory() as d:
            with open(d + "/c.yaml", "w") as f:
                f.write("meters: [{name: bmc, meter: ipmi, address: \"127.0.0.1:%d\", user: reader, password_env: JM_T, cipher: 3, "
                        "privilege: ADMINISTRATOR, timeout: 20s}]\n" % port)
            r = subprocess.run([JOULEMARK, "meters", "--config", d + "/c.yaml", "-m", "bmc", "--no-measure", "--json"],
                               capture_output=True, text=True, timeout=90, stdin=subprocess.DEVNULL, env={**os.environ, **env})
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertNotIn("s3cr3t-word", r.stdout + r.stderr)
        return next(m for m in json.loads(r.stdout)["meters"] if (m.get("configured") or {}).get("name") == "bmc")

    def test_power(self):
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as s:
            s.bind(("::", 0))
            port = s.getsockname()[1]
        p = subprocess.Popen([PYTHON, "-c", BMC, str(port)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            time.sleep(2)
            m = self.meters(port, {"JM_T": "s3cr3t-word"})
            self.assertEqual(m["state"], "ok", m["reason"])
            c = {x["name"]: x for x in m["channels"]}
            self.assertEqual((c["power"]["value"], c["power"]["status"]), (332, "ok"))
            self.assertNotEqual(self.meters(port, {"JM_T": "other-word"})["state"], "ok")
        finally:
            p.kill()
            p.wait(10)


if __name__ == "__main__":
    if WHY:
        print(WHY)
        sys.exit(77)
    tap.main()

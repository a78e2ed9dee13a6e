#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The meter redfish against OpenStack's sushy-tools (PyPI): captured BMCs served by its static server over TLS, and its emulator,
whose tree of resources is another hand's and has no power in it."""
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import unittest

import pypi
import tap
from redfish_server import captured

JOULEMARK = os.environ["JOULEMARK"]
PYTHON, WHY = pypi.prepare("sushy", "sushy-tools==2.2.0", "sushy_tools")


def serve(folder, *args):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    p = subprocess.Popen([os.path.join(os.path.dirname(PYTHON), args[0]), *args[1:], "-i", "127.0.0.1", "-p", str(port),
                          "--ssl-certificate", folder + "/cert.pem", "--ssl-key", folder + "/key.pem"],
                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return p, port


class Sushy(unittest.TestCase):
    def test_bmcs(self):
        corpus = tap.corpus()
        if not corpus:
            self.skipTest("no corpus")
        # consumption as the captures show it, and what it agrees with: AC input of the supplies, both
        bmcs = {"dell": (614, "agrees with the input"), "lenovo": (708, "agrees with the input")}
        with tempfile.TemporaryDirectory() as d:
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", d + "/key.pem",
                            "-out", d + "/cert.pem", "-days", "2", "-subj", "/CN=bmc", "-addext", "subjectAltName=IP:127.0.0.1"], check=True,
                           capture_output=True)
            servers, lines = [serve(d, "sushy-emulator", "--fake")], []
            for bmc in bmcs:
                for uri, body in captured(corpus, "bmc/" + bmc).items():
                    folder = d + "/" + bmc + uri[len("/redfish/v1"):]
                    os.makedirs(folder, exist_ok=True)
                    with open(folder + "/index.json", "wb") as f:
                        f.write(body if isinstance(body, bytes) else json.dumps(body).encode())
                servers.append(serve(d, "sushy-static", "-m", d + "/" + bmc))
            try:
                for (p, port), name in zip(servers, ["emulator", *bmcs]):
                    lines.append("  - {name: %s, meter: redfish, url: \"https://127.0.0.1:%d\", parts: node, tls: {ca: %s/cert.pem}}\n" % (name, port, d))
                    for _ in range(600):
                        try:
                            socket.create_connection(("127.0.0.1", port), 1).close()
                            break
                        except OSError:
                            time.sleep(.1)
                with open(d + "/c.yaml", "w") as f:
                    f.write("meters:\n" + "".join(lines))
                r = subprocess.run([JOULEMARK, "meters", "--config", d + "/c.yaml", "-m", ",".join(["emulator", *bmcs]), "--no-measure", "--json"],
                                   capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
            finally:
                for p, _ in servers:
                    p.kill()
                    p.wait(10)
        self.assertEqual(r.returncode, 0, r.stderr)
        m = {(x.get("configured") or {}).get("name"): x for x in json.loads(r.stdout)["meters"]}
        self.assertEqual(m["emulator"]["state"], "absent")
        self.assertIn("no power or energy", m["emulator"]["reason"])
        for bmc, (watts, agrees) in bmcs.items():
            self.assertEqual(m[bmc]["state"], "ok", m[bmc]["reason"])
            self.assertIn(watts, [c["value"] for c in m[bmc]["channels"] if c["name"] == "power"], bmc)
            self.assertIn(agrees, json.dumps(m[bmc]["facts"]))


if __name__ == "__main__":
    if WHY:
        print(WHY)
        sys.exit(77)
    tap.main()

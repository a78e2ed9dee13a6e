#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A BMC in the network, by an ipmitool of our own hand: what it is started with, and what becomes of what it prints."""
import json
import os
import stat
import subprocess
import tempfile
import unittest

import tap

JOULEMARK = os.environ["JOULEMARK"]
GOOD = " dc 4c 01 44 00 f8 01 5c 01 de 25 0c 6b e8 03 00\n 00 40"


class Ipmi(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.tool = self.dir.name + "/tool"

    def tearDown(self):
        self.dir.cleanup()

    def meters(self, prints, status=0, extra="", sleep=0, env=None, code=0, timeout="60s"):
        d = self.dir.name
        with open(d + "/out", "w") as f:
            f.write(prints + "\n")
        with open(self.tool, "w") as f:
            f.write("#!/bin/sh\necho \"$@\" >> %s/args\necho \"$IPMI_PASSWORD\" >> %s/pass\n%scat %s/out\nexit %d\n" %
                    (d, d, "sleep %g\n" % sleep if sleep else "", d, status))
        os.chmod(self.tool, stat.S_IRWXU)
        with open(d + "/c.yaml", "w") as f:
            f.write("meters:\n  - {name: bmc, meter: ipmi, address: \"192.0.2.7:6230\", tool_path: %s, timeout: %s%s}\n" % (self.tool, timeout, extra))
        r = subprocess.run([JOULEMARK, "meters", "--config", d + "/c.yaml", "-m", "bmc", "--no-measure", "--json"],
                           capture_output=True, text=True, timeout=240, stdin=subprocess.DEVNULL, env={**os.environ, **(env or {})})
        if code is None:
            return r
        self.assertEqual(r.returncode, code, r.stderr)
        return next(m for m in json.loads(r.stdout)["meters"] if (m.get("configured") or {}).get("name") == "bmc")

    def read(self, name):
        with open(self.dir.name + "/" + name) as f:
            return f.read()

    def test_power(self):
        m = self.meters(GOOD)
        c = {x["name"]: x for x in m["channels"]}
        self.assertEqual((c["power"]["value"], c["power"]["status"], c["power"]["provenance"]), (332, "ok", "measured"))
        self.assertEqual(c["power"]["domain"]["kind"], "node")
        self.assertEqual(m["facts"]["instrument.bmc.statistics_s"], "1.000")
        self.assertEqual(self.read("args").splitlines()[0], "-I lanplus -H 192.0.2.7 -p 6230 -L USER raw 0x2c 0x02 0xdc 0x01 0x00 0x00")

    def test_the_password_is_on_no_command_line(self):
        m = self.meters(GOOD, extra=", user: op, password_env: JM_T", env={"JM_T": "s3cr3t-word"})
        self.assertEqual(m["state"], "ok")
        self.assertNotIn("s3cr3t-word", self.read("args") + json.dumps(m))
        self.assertIn("-U op -E raw", self.read("args"))
        self.assertIn("s3cr3t-word", self.read("pass"))
        secret = self.dir.name + "/secret"
        with open(secret, "w") as f:
            f.write("other-word\n")
        os.chmod(secret, 0o600)
        self.meters(GOOD, extra=", user: op, password_file: %s" % secret)
        self.assertIn("-f %s raw" % secret, self.read("args"))
        self.assertNotIn("other-word", self.read("args") + self.read("pass"))

    def test_sources(self):
        m = self.meters(" 05 00 4e 61 bc 00 15 02 00 10 5e 5f fa 00", extra=", source: lenovo")
        self.assertAlmostEqual(m["channels"][0]["value"], 12345678.533)
        m = self.meters(" 57 01 00 2c 01 c8 00 f4 01 36 01 00 00 00 00 3c 00 00 00 50", extra=", source: nm")
        self.assertEqual(m["channels"][0]["value"], 300)
        self.assertIn("-b 0 -t 0x2c raw 0x2e 0xc8 0x57 0x01 0x00 0x01 0x00 0x00", self.read("args"))
        m = self.meters("Current Power                        : 332 Watts\nStatistics reporting time period     : 1000 milliseconds\n"
                        "Power Measurement                    : Active", extra=", tool: ipmi-dcmi")
        self.assertEqual(m["channels"][0]["value"], 332)

    def test_no_power(self):
        for prints, status, state, word in (
                (" dc 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 40", 0, None, "no power"),
                (" dc ff ff 00 00 ff ff 00 00 00 00 00 00 00 00 00 00 40", 0, None, "no power"),
                ("Unable to send RAW command (channel=0x0 netfn=0x2c lun=0x0 cmd=0x2 rsp=0xc1): Invalid command", 1, "unsupported", "0xc1"),
                ("Unable to send RAW command (channel=0x0 netfn=0x2c lun=0x0 cmd=0x2 rsp=0xff): Unspecified error", 1, None, "0xff"),
                ("> RAKP 2 HMAC is invalid\nError: Unable to establish IPMI v2 / RMCP+ session", 1, "denied", "refuses"),
                ("Error: Unable to establish IPMI v2 / RMCP+ session", 1, None, "does not answer")):
            with self.subTest(prints):
                m = self.meters(prints, status)
                self.assertNotEqual(m["state"], "ok")
                self.assertIn(word, m["reason"])
                if state:
                    self.assertEqual(m["state"], state)

    def test_declared(self):
        """openbmc issue 3257: not active, 1970, 319 W: kept, and not called measured."""
        m = self.meters(" dc 3f 01 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00")
        self.assertEqual((m["channels"][0]["value"], m["channels"][0]["provenance"]), (319, "declared"))

    def test_silence_ends(self):
        self.assertIn("does not answer within 1 s", self.meters(GOOD, sleep=300, timeout="1s")["reason"])

    def test_no_device_and_no_tool(self):
        with open(self.dir.name + "/c.yaml", "w") as f:
            f.write("meters: [{name: bmc, meter: ipmi}]\n")
        r = subprocess.run([JOULEMARK, "meters", "--config", self.dir.name + "/c.yaml", "-m", "bmc", "--no-measure", "--dev-root", self.dir.name],
                           capture_output=True, text=True, timeout=240, stdin=subprocess.DEVNULL)
        self.assertIn("modprobe", r.stdout + r.stderr)
        m = self.meters(GOOD, extra=", user: op", code=None)
        self.assertEqual(m.returncode, 2)
        self.assertIn("password", m.stderr)


if __name__ == "__main__":
    tap.main()

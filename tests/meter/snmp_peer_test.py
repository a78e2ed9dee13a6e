#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The meter snmp against snmpd (net-snmp): version 2c, and version 3 with SHA or SHA-256 and AES. Objects of a PDU are
`override`n in its configuration."""
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest

import tap

JOULEMARK = os.environ["JOULEMARK"]
SNMPD = shutil.which("snmpd", path=os.environ.get("PATH", "") + ":/usr/sbin")

CONF = """rocommunity s3cr3t-word 127.0.0.1
createUser sha SHA "authentic1" AES "private12"
createUser sha256 SHA-256 "authentic1" AES "private12"
rouser sha priv
rouser sha256 priv
sysObjectID 1.3.6.1.4.1.534.6.6.7
override 1.3.6.1.4.1.534.6.6.7.3.5.1.4.0.1 integer 900
override 1.3.6.1.4.1.534.6.6.7.3.5.1.5.0.1 integer 12345
override 1.3.6.1.4.1.534.6.6.7.3.5.1.6.0.1 uinteger 1700000000
"""


def free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Snmpd(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not SNMPD:
            raise unittest.SkipTest("no snmpd")
        cls.dir = tempfile.TemporaryDirectory()
        d = cls.dir.name
        conf = CONF + "".join("override 1.3.6.1.4.1.534.6.6.7.6.5.1.3.0.%d integer %d\n" % (i, 10 * i) for i in range(1, 61))
        with open(d + "/snmpd.conf", "w") as f:
            f.write(conf)
        cls.port = free_port()
        env = {**os.environ, "SNMP_PERSISTENT_DIR": d, "SNMPCONFPATH": d, "MIBS": ""}
        cls.p = subprocess.Popen([SNMPD, "-f", "-C", "-c", d + "/snmpd.conf", "-Lf", d + "/log", "udp:127.0.0.1:%d" % cls.port],
                                 env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(1)

    @classmethod
    def tearDownClass(cls):
        if SNMPD:
            cls.p.terminate()
            cls.p.wait(10)
            cls.dir.cleanup()

    def meters(self, extra, env):
        path = self.dir.name + "/c.yaml"
        with open(path, "w") as f:
            f.write("meters: [{name: pdu, meter: snmp, address: \"127.0.0.1:%d\", timeout: 2s, %s}]\n" % (self.port, extra))
        for _ in range(5):  # it may still be starting
            r = subprocess.run([JOULEMARK, "meters", "--config", path, "-m", "pdu", "--no-measure", "--json"], capture_output=True,
                               text=True, timeout=60, stdin=subprocess.DEVNULL, env={**os.environ, **env})
            self.assertEqual(r.returncode, 0, r.stderr)
            m = next(m for m in json.loads(r.stdout)["meters"] if (m.get("configured") or {}).get("name") == "pdu")
            if m["state"] != "absent":
                break
        for secret in env.values():
            self.assertNotIn(secret, r.stdout + r.stderr)
        return m

    def check(self, m):
        self.assertEqual(m["state"], "ok", m["reason"])
        c = {(x["device"], x["name"]): x for x in m["channels"]}
        self.assertEqual(c[("pdu", "power")]["value"], 900)
        self.assertEqual(c[("pdu", "energy")]["value"], 12345 * 3600)
        for i in range(1, 61):
            self.assertEqual(c[("pdu/%d" % i, "power")]["value"], 10 * i)

    def test_2c(self):
        self.check(self.meters("community_env: JM_T", {"JM_T": "s3cr3t-word"}))
        self.assertIn("community", self.meters("community_env: JM_T", {"JM_T": "other-word"})["reason"])

    def test_3(self):
        for user in ("sha", "sha256"):
            with self.subTest(user):
                v3 = "version: 3, user: %s, auth: %s, password_env: JM_A, privacy_env: JM_P" % (user, user)
                good = {"JM_A": "authentic1", "JM_P": "private12"}
                self.check(self.meters(v3, good))
                m = self.meters(v3, {**good, "JM_A": "wrong-word"})
                self.assertEqual(m["state"], "denied", m["reason"])
                self.assertEqual(self.meters(v3.replace("user: sha", "user: no"), good)["state"], "denied")
                m = self.meters(v3, {**good, "JM_P": "wrong-word"})
                self.assertNotEqual(m["state"], "ok")


if __name__ == "__main__":
    if not SNMPD:
        print("no snmpd")
        sys.exit(77)
    tap.main()

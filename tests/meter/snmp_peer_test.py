#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The meter snmp against snmpd (net-snmp): version 2c, and version 3 with SHA or SHA-256 and AES. Objects of a PDU are
`override`n in its configuration. And against snmpsim (PyPI), which plays walks of PDUs."""
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
        for _ in range(120):  # it may still be starting
            r = subprocess.run([JOULEMARK, "meters", "--config", path, "-m", "pdu", "--no-measure", "--json"], capture_output=True,
                               text=True, timeout=60, stdin=subprocess.DEVNULL, env={**os.environ, **env})
            self.assertEqual(r.returncode, 0, r.stderr)
            m = next(m for m in json.loads(r.stdout)["meters"] if (m.get("configured") or {}).get("name") == "pdu")
            if "listens" not in (m["reason"] or ""):
                break
            time.sleep(.25)
        for secret in env.values():
            if "-" in secret or secret[-1].isdigit():
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


PYTHON, WHY = pypi.prepare("snmpsim", "snmpsim==1.2.2 pysmi cryptography", "snmpsim, pysmi, cryptography")

# OID after the enterprise, type, value: of an APC AP8641 (PyPI's snmpsim-data), a Raritan PX2 (LibreNMS) and a ServerTech Sentry 4
# (LibreNMS); the figures that follow from them are reckoned by hand.
WALKS = {
    "apc": ("318", [("1.1.26.4.3.1.5.1", 2, 121), ("1.1.26.4.3.1.9.1", 2, 19516), ("1.1.26.9.4.3.1.7.1", 2, 163), ("1.1.26.9.4.3.1.7.4", 2, 125),
                    ("1.1.26.9.4.3.1.11.1", 2, 3046)],
            {("", "power"): 1210, ("", "energy"): 1951.6 * 3.6e6, ("/1", "power"): 163, ("/4", "power"): 125, ("/1", "energy"): 304.6 * 3.6e6}),
    "raritan": ("13742", [("6.3.3.4.1.7.1.1.5", 66, 0), ("6.3.5.4.1.7.1.3.5", 66, 0), ("6.5.2.3.1.4.1.1.5", 66, 138), ("6.5.4.3.1.4.1.3.5", 66, 68)],
                {("", "power"): 138, ("/3", "power"): 68}),
    "sentry": ("1718.4", [("1.3.3.1.3.1.1", 2, 1701), ("1.3.3.1.5.1.1", 2, 1790), ("1.3.3.1.8.1.1", 2, 95), ("1.3.3.1.10.1.1", 2, 8937)],
               {("", "power"): 1701, ("", "energy"): 893.7 * 3.6e6}),
}


class Snmpsim(Snmpd):
    @classmethod
    def setUpClass(cls):
        if WHY:
            raise unittest.SkipTest(WHY)
        cls.dir = tempfile.TemporaryDirectory()
        d = cls.dir.name
        os.mkdir(d + "/data")
        os.mkdir(d + "/cache")
        for path in (d, d + "/data"):
            os.chmod(path, 0o755)
        os.chmod(d + "/cache", 0o777)
        for name, (enterprise, objects, _) in WALKS.items():
            e = "1.3.6.1.4.1." + enterprise
            with open(d + "/data/" + name + ".snmprec", "w") as f:
                f.write("1.3.6.1.2.1.1.1.0|4|PDU\n1.3.6.1.2.1.1.2.0|6|%s\n1.3.6.1.2.1.1.3.0|67|165528150\n" % e +
                        "".join("%s.%s|%d|%d\n" % (e, *o) for o in objects))
        cls.port = free_port()
        program = os.path.join(os.path.dirname(PYTHON), "snmpsim-command-responder")
        user = ["--process-user=nobody", "--process-group=nogroup"] if os.getuid() == 0 else []
        cls.p = subprocess.Popen([program, "--data-dir=" + d + "/data", "--cache-dir=" + d + "/cache", "--agent-udpv4-endpoint=127.0.0.1:%d" % cls.port,
                                  "--v3-user=reader", "--v3-auth-key=authentic1", "--v3-auth-proto=SHA", "--v3-priv-key=private12", "--v3-priv-proto=AES",
                                  *user], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    @classmethod
    def tearDownClass(cls):
        cls.p.terminate()
        cls.p.wait(10)
        cls.dir.cleanup()

    def check(self, m, want):
        self.assertEqual(m["state"], "ok", m["reason"])
        c = {(x["device"][3:], x["name"]): x["value"] for x in m["channels"]}
        for k, v in want.items():
            self.assertAlmostEqual(c[k], v, delta=1e-6 * v, msg=k)

    def test_2c(self):
        for name, (_, _, want) in WALKS.items():
            with self.subTest(name):
                self.check(self.meters("community_env: JM_T", {"JM_T": name}), want)

    def test_3(self):
        v3 = "version: 3, user: reader, auth: sha, password_env: JM_A, privacy_env: JM_P, context: apc"
        good = {"JM_A": "authentic1", "JM_P": "private12"}
        self.check(self.meters(v3, good), WALKS["apc"][2])
        self.assertEqual(self.meters(v3, {**good, "JM_A": "wrong-word"})["state"], "denied")


if __name__ == "__main__":
    if not SNMPD and WHY:
        print("no snmpd, and " + WHY)
        sys.exit(77)
    tap.main()

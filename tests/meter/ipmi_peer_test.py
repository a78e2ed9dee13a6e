#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The meter ipmi, by the real ipmitool over RMCP+, against BMCs that answer DCMI: one of PyPI's pyghmi, and OpenIPMI's ipmi_sim."""
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
                               capture_output=True, text=True, timeout=240, stdin=subprocess.DEVNULL, env={**os.environ, **env})
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertNotIn("s3cr3t-word", r.stdout + r.stderr)
        return next(m for m in json.loads(r.stdout)["meters"] if (m.get("configured") or {}).get("name") == "bmc")

    def started(self, port):
        for _ in range(10):  # it may still be starting
            time.sleep(1)
            m = self.meters(port, {"JM_T": "s3cr3t-word"})
            if m["state"] == "ok":
                break
        return m

    def test_power(self):
        if WHY:
            self.skipTest(WHY)
        try:
            with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as s:
                s.bind(("::", 0))
                port = s.getsockname()[1]
        except OSError as e:  # it listens there for IPv4 too
            self.skipTest(f"no IPv6 here: {e}")
        p = subprocess.Popen([PYTHON, "-c", BMC, str(port)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            m = self.started(port)
            self.assertEqual(m["state"], "ok", m["reason"])
            c = {x["name"]: x for x in m["channels"]}
            self.assertEqual((c["power"]["value"], c["power"]["status"]), (332, "ok"))
            self.assertNotEqual(self.meters(port, {"JM_T": "other-word"})["state"], "ok")
        finally:
            p.kill()
            p.wait(10)


DCMI = """
#include <string.h>
/* ipmi_sim's hook for a group extension; what the request holds is not looked at */
void ipmi_emu_register_group_extension_handler(unsigned char group, void (*h)(void *, void *, unsigned char *, unsigned int *, void *), void *data);
static void power(void *mc, void *msg, unsigned char *out, unsigned int *n, void *data)
{
    static const unsigned char reply[] = {0, 0xdc, 0x4c, 1, 0x44, 0, 0xf8, 1, 0x5c, 1, 0xde, 0x25, 0x0c, 0x6b, 0xe8, 3, 0, 0, 0x40};
    (void)mc, (void)msg, (void)data;
    memcpy(out, reply, sizeof reply);
    *n = sizeof reply;
}
int ipmi_sim_module_init(void *sys, const char *init)
{
    (void)sys, (void)init;
    ipmi_emu_register_group_extension_handler(0xdc, power, 0);
    return 0;
}
"""
LAN = """name "bmc"
set_working_mc 0x20
  startlan 1
    addr 127.0.0.1 %d
    priv_limit admin
    allowed_auths_callback none md2 md5 straight
    allowed_auths_user none md2 md5 straight
    allowed_auths_operator none md2 md5 straight
    allowed_auths_admin none md2 md5 straight
    guid a123456789abcdefa123456789abcdef
  endlan
  user 2 true "reader" "s3cr3t-word" admin 10 none md2 md5 straight
loadlib "%s/dcmi.so" ""
"""


class IpmiSim(Bmc):
    def test_power(self):
        sim, cc = shutil.which("ipmi_sim"), shutil.which("cc")
        if not sim or not cc:
            self.skipTest("no ipmi_sim" if cc else "no cc")
        with tempfile.TemporaryDirectory() as d, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
            s.close()
            for name, text in (("dcmi.c", DCMI), ("lan.conf", LAN % (port, d)),
                               ("sim.emu", "mc_setbmc 0x20\nmc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02\nmc_enable 0x20\n")):
                with open(d + "/" + name, "w") as f:
                    f.write(text)
            subprocess.run([cc, "-shared", "-fPIC", "-o", d + "/dcmi.so", d + "/dcmi.c"], check=True)
            p = subprocess.Popen([sim, "-c", d + "/lan.conf", "-f", d + "/sim.emu", "-s", d, "-n"], stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                m = self.started(port)
                self.assertEqual(m["state"], "ok", m["reason"])
                c = {x["name"]: x for x in m["channels"]}
                self.assertEqual((c["power"]["value"], c["power"]["status"]), (332, "ok"))
            finally:
                p.kill()
                p.wait(10)


if __name__ == "__main__":
    if not shutil.which("ipmitool"):
        print("no ipmitool")
        sys.exit(77)
    tap.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""GPUs, BMC, rack PDU and power analyzer of one host in real time, about one and the same simulated power: NVML, Redfish,
SNMP through net-snmp's snmpd (pass_persist), and SCPI. Each is held to the truth, and the reconciliation to all of them."""
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
from simanalyzer import Analyzer

JOULEMARK = os.environ["JOULEMARK"]
BUILD = os.environ["JM_BUILD"]
SIM = os.path.join(BUILD, "sim", "joulemark-sim")
SNMPD = shutil.which("snmpd", path=os.environ.get("PATH", "") + ":/usr/sbin")
RARITAN = ".1.3.6.1.4.1.13742.6"
EFFICIENCY, BASE, GAIN = 0.94, 150, 1.1  # the node draws 150 W + 1.1 x the boards, and its supply 1 / 0.94 of that
SWING = 2 * 40 * GAIN / EFFICIENCY  # W at the inlet, from the mean: two boards of 400 W +- 40 W


def free_port(kind):
    with socket.socket(socket.AF_INET, kind) as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def stop(p):
    p.terminate()
    p.wait(60)
    if p.stdout:
        p.stdout.close()


class OneTruth(unittest.TestCase):
    def start(self, *args, **kw):
        p = subprocess.Popen(args, stdin=subprocess.DEVNULL, text=True, **kw)
        self.addCleanup(stop, p)
        return p

    def test_all_at_once(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        d = folder.name
        state = d + "/state"
        # up and down in 3 s, the same for both boards
        gpus = self.start(SIM, "gpu", "--gpus", "2", "--seed", "7", "--state", state, "--offset", "0s", "--waveform",
                          "ramp:from=360W,to=440W,up=1.5s,step=10ms", stdout=subprocess.PIPE)
        lines = [gpus.stdout.readline() for _ in range(2)]
        self.assertTrue(os.path.exists(state), lines)
        dc = "state:%s,base=%dW,gain=%g" % (state, BASE, GAIN)
        ac = "state:%s,base=%.6fW,gain=%.9g" % (state, BASE / EFFICIENCY, GAIN / EFFICIENCY)
        bmc = self.start(SIM, "bmc", "--waveform", dc, "--efficiency", str(EFFICIENCY), "--window", "1s", "--lag", "200ms", stdout=subprocess.PIPE)
        url = bmc.stdout.readline().strip().removesuffix("/redfish/v1")
        port = free_port(socket.SOCK_DGRAM)
        with open(d + "/snmpd.conf", "w") as f:
            f.write("rocommunity s3cr3t-word 127.0.0.1\nsysObjectID %s\nsysDescr JOULEMARK SIM-PDU (SIMULATED)\npass_persist %s %s pdu --pass-persist --outlets 2 --lag 200ms --waveform %s\n"
                    % (RARITAN[1:], RARITAN, SIM, ac))
        self.start(SNMPD, "-f", "-C", "-c", d + "/snmpd.conf", "-Lf", d + "/log", "udp:127.0.0.1:%d" % port,
                   env={**os.environ, "SNMP_PERSISTENT_DIR": d, "SNMPCONFPATH": d, "MIBS": ""}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        host = socket.gethostname()
        analyzer = Analyzer("--waveform", ac, "--ranges", "300,10", connect=False)
        self.addCleanup(analyzer.__exit__)
        with open(d + "/c.yaml", "w") as f:
            f.write("""meters:
  - {name: bmc, meter: redfish, url: "%s", interval: 250ms, host: %s}
  - name: pdu
    meter: snmp
    address: "127.0.0.1:%d"
    community_env: JM_T
    interval: 250ms
    outlets: 1-2
    feeds: [{part: 1, host: %s, label: supply 1}, {part: 2, host: %s, label: supply 2}]
  - {name: wall, meter: yokogawa, address: "%s", volts: 300, amps: 10, rate: 100ms, at: inlet ac, host: %s}
""" % (url, host, port, host, host, analyzer.url, host))
        env = {**os.environ, "JM_T": "s3cr3t-word", "JOULEMARK_SIM_GPU": state, "JM_NVML_LIB": os.path.join(BUILD, "sim", "gpu", "libnvidia-ml.so.1")}
        for _ in range(200):  # snmpd may still be starting
            r = subprocess.run([JOULEMARK, "meters", "--config", d + "/c.yaml", "-m", "pdu", "--no-measure", "--json"], env=env,
                               capture_output=True, text=True, timeout=60)
            (m,) = [m for m in json.loads(r.stdout)["meters"] if (m.get("configured") or {}).get("name") == "pdu"]
            if m["state"] == "ok":
                break
            time.sleep(0.2)
        self.assertEqual(m["state"], "ok", m)
        r = subprocess.run([JOULEMARK, "run", "-q", "--no-summary", "--config", d + "/c.yaml", "-m", "nvml,bmc,pdu,wall", "-o", d + "/r.jmr", "--",
                            "sleep", "6"], env=env, capture_output=True, text=True, timeout=120)
        self.assertEqual(r.returncode, 0, r.stderr)
        r = subprocess.run([JOULEMARK, "show", d + "/r.jmr", "--json"], capture_output=True, text=True, timeout=60)
        j = json.loads(r.stdout)
        analyzer.close()
        (w,) = [w for w in j["windows"] if w["role"] == "measure"]
        t0, t1 = self.ns(w["t0"]), self.ns(w["t1"])
        wall = analyzer.energy(t0, t1)
        true = {"wall": wall, "gpu": (wall * EFFICIENCY - BASE * w["seconds"]) / GAIN}
        for boundary, late in ("gpu", 0.2), ("wall", 0.4):
            (x,) = [x for x in j["results"] if x["metric"] == "energy" and x["boundary"] == boundary]
            # at each edge an instrument may be this late, over this much swing
            edge = 2 * late * 2 * SWING * true[boundary] / wall
            self.assertEqual(x["provenance"], "simulated")
            self.assertLessEqual(abs(x["value"] - true[boundary]), edge + 0.01 * true[boundary], (boundary, x, true))
        rows = {(r["domain"], r["label"]): r for r in j["reconcile"]["rows"]}
        (inlet,) = [r for (kind, _), r in rows.items() if kind == "inlet_ac"]
        self.assertIn(("rack", "pdu"), rows)
        self.assertEqual({r["provenance"] for r in rows.values()}, {"simulated"})  # by what BMC and PDU say of themselves
        beside = [b for b in inlet["beside"] if b["joules"]]
        said = " ".join(b["instrument"] for b in beside)
        for what in "redfish bmc power", "yokogawa wall power", "its 2 supplies":
            self.assertIn(what, said)
        for b in beside:
            self.assertLessEqual(abs(b["joules"] - wall), 2 * 2.0 * 2 * SWING + 0.02 * wall, b)
        true_rack = rows[("rack", "pdu")]["joules"]
        self.assertLessEqual(abs(true_rack - wall), 2 * 2.0 * 2 * SWING + 0.02 * wall)
        wrong = [f for f in j["validity"]["findings"] if f["id"] in ("reconcile.child_larger", "reconcile.ac_dc", "reconcile.disagree", "energy.conflict")]
        self.assertFalse(wrong)

    def ns(self, text):
        head, frac = text.rstrip("Z").split(".")
        s = int(subprocess.run(["date", "-u", "-d", head + "Z", "+%s"], capture_output=True, text=True, check=True).stdout)
        return s * 10**9 + int(frac.ljust(9, "0"))


if __name__ == "__main__":
    if not SNMPD:
        print("no snmpd")
        sys.exit(77)
    tap.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A calibration of a simulated node, held to what its inlet truly drew: each level that was left out, shown without any
meter at node and wall; the same from dcgm-exporter series alone; refused for what it does not reach. The supplies'
efficiency of the reconciliation, against their table."""
import concurrent.futures
import json
import os
import shutil
import subprocess
import tempfile
import unittest

import tap

JOULEMARK = os.environ["JOULEMARK"]
LEVELS = ["0", "0.1", "0.25", "0.4", "0.55", "0.7", "0.85", "1"]
NODE = ["--minutes", "2", "--gpus", "4", "--seed", "5"]
NO_WALL = ["--instrument", "analyzer:off", "--instrument", "pdu:off", "--instrument", "bmc:off"]


class Calibration(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.mkdtemp(prefix="node_calibration.")
        cls.path = staticmethod(lambda name: os.path.join(cls.dir, name))
        jobs = []
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            for i, level in enumerate(LEVELS):
                course = ["--course", str(i)]  # what is random in time differs from level to level, the machine does not
                jobs.append(pool.submit(cls.call, "sim", "node", *NODE, *course, "--load", level, "-o", cls.path("level%s.jmr" % level),
                                        "--truth", cls.path("truth%s.json" % level)))
                jobs.append(pool.submit(cls.call, "sim", "node", *NODE, *course, "--load", level, *NO_WALL, "-o", cls.path("gpus%s.jmr" % level)))
            jobs.append(pool.submit(cls.call, "sim", "node", *NODE, "--course", "4", "--load", "0.55", *NO_WALL, "--readings", cls.path("gpus.jsonl")))
            for j in jobs:
                j.result()
        cls.all = cls.calibrate("all", LEVELS)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.dir)

    @classmethod
    def call(cls, *args, status=(0,)):
        r = subprocess.run([JOULEMARK, *args], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
        assert r.returncode in status, (args, r.returncode, r.stderr, r.stdout[-500:])
        return r.stderr if r.returncode in (2, 4) else r.stdout

    @classmethod
    def calibrate(cls, name, levels):
        cls.call("calibrate", *(cls.path("level%s.jmr" % x) for x in levels), "-o", cls.path(name + ".jmcal"))
        return cls.path(name + ".jmcal")

    def wall(self, run, calibration, *args):
        j = json.loads(self.call("show", run, "--calibration", calibration, "--json", *args, status=(0, 3)))
        (x,) = [x for x in j["results"] if x["metric"] == "energy" and x["boundary"] == "wall"]
        return x, j

    def truth(self, level, kind="inlet_ac"):
        with open(self.path("truth%s.json" % level)) as f:
            return sum(p["joules"] for p in json.load(f)["parts"] if p["kind"] == kind)

    def test_a_level_left_out(self):
        for level in LEVELS[2:-1]:
            with self.subTest(level):
                cal = self.calibrate("without" + level, [x for x in LEVELS if x != level])
                x, j = self.wall(self.path("gpus%s.jmr" % level), cal)
                lo, hi = x["interval"]["lo"], x["interval"]["hi"]
                self.assertTrue(lo <= self.truth(level) <= hi, (lo, self.truth(level), hi))
                self.assertLessEqual((hi - lo) / 2, 0.02 * x["value"])
                self.assertEqual(x["provenance"], "simulated")  # calibrated, and of simulated parts: the worse of both
                self.assertIn("calibrated estimate", x["instrument"])

    def test_it_can_fail(self):
        """another machine: fans of three times the power; its truth is not inside"""
        args = ["sim", "node", *NODE, "--load", "0.55", "--fans", "3300"]
        self.call(*args, *NO_WALL, "-o", self.path("other.jmr"))
        with_wall = json.loads(self.call("sim", "node", *NODE, "--load", "0.55", "--fans", "3300", "--between", "0,120"))
        drew = sum(p["joules"] for p in with_wall["parts"] if p["kind"] == "inlet_ac")
        x, _ = self.wall(self.path("other.jmr"), self.all)
        self.assertFalse(x["interval"]["lo"] <= drew <= x["interval"]["hi"])

    def test_a_hole_of_the_range(self):
        """between idle and a tenth of the load nothing was calibrated, and nothing is said"""
        cal = self.calibrate("hole", [x for x in LEVELS if x != "0.1"])
        x, j = self.wall(self.path("gpus0.1.jmr"), cal)
        self.assertIsNone(x["value"])
        self.assertIn("calibration-range", x["validity"]["reasons"])
        self.assertTrue(any(f["id"] == "calibration.range" for f in j["validity"]["findings"]))

    def test_supplies(self):
        """output over input of the supplies lies where the parts truly were, at each load"""
        seen = []
        for level in LEVELS:
            j = json.loads(self.call("show", self.path("level%s.jmr" % level), "--json", status=(0, 3)))
            (row,) = [r for r in j["reconcile"]["rows"] if r["domain"] == "inlet_ac"]
            e = row["efficiency"]
            true = self.truth(level, "node") / self.truth(level)
            self.assertTrue(e["lo"] <= true <= e["hi"], (level, e, true))
            self.assertLessEqual(e["hi"] - e["lo"], 0.06)
            seen.append(true)
        self.assertGreater(max(seen) - min(seen), 0.005)  # the curve was run along
        # one supply at 2,000 W of 4,000 W: 96 % by the table of 80 PLUS Titanium
        self.call("sim", "node", "--minutes", "0.5", "--load", "0", "--gpus", "2", "--psus", "1", "--psu-rated", "4000", "--board", "1755",
                  "--cpu-idle", "0", "--cpu-busy", "0", "--cpu-own", "0", "--dram", "0", "--nic", "0", "--storage", "0", "--switch", "0",
                  "--fans", "0", "-o", self.path("one.jmr"))
        j = json.loads(self.call("show", self.path("one.jmr"), "--json", status=(0, 3)))
        (row,) = [r for r in j["reconcile"]["rows"] if r["domain"] == "inlet_ac"]
        self.assertTrue(row["efficiency"]["lo"] <= 0.96 <= row["efficiency"]["hi"], row["efficiency"])

    def test_findings(self):
        """instruments that read something else than they say: AC for DC (4.2 % more), boards that
        claim more than the node, a BMC that means over half a minute; and one that reads right"""
        for change, id, severity in (("bmc:gain=1.042", "reconcile.ac_dc", "warning"), ("gpu:gain=2.6", "reconcile.child_larger", "error"),
                                     ("bmc:window=30", "reconcile.averages", "info"), ("bmc:window=5", None, None)):
            with self.subTest(change):
                self.call("sim", "node", *NODE, "--load", "0.55", "--instrument", change, "-o", self.path("f.jmr"), "--force")
                j = json.loads(self.call("show", self.path("f.jmr"), "--json", status=(0, 3)))
                found = {f["id"]: f for f in j["validity"]["findings"] if f["id"] in ("reconcile.ac_dc", "reconcile.child_larger")
                         or f["id"] == id}
                self.assertEqual(set(found), {id} if id else set())
                if id:
                    self.assertEqual(found[id]["severity"], severity)
                    self.assertEqual(found[id].get("evidence") is not None, True)

    # ---- Prometheus
    def series(self, name, host="sim-node.example.com", driver="580.95.05", factor=1, uuid=lambda u: u, drop=()):
        """what a dcgm-exporter shows of the same boards, scraped every 5 s, as the answer to a range query"""
        channel, start, real, points = {}, None, None, {}
        with open(self.path("gpus.jsonl")) as f:
            for line in f:
                j = json.loads(line)
                real = j.get("real_ns", real)
                if "clock" in j and start is None:
                    start = j["clock"][0]
                if j.get("instrument") == "gpu.energy" and "device" in j:
                    channel[j["channel"]] = j["device"]
                if j.get("readings") in channel:
                    v = j["v"]
                    for t0, mj in zip(v[0::3], v[2::3]):
                        t = (t0 - start + real) / 1e9
                        p = points.setdefault(channel[j["readings"]], [])
                        if not p or t - p[-1][0] >= 5:
                            p.append((t, mj))
        result = []
        for i, (device, p) in enumerate(sorted(points.items())):
            if i in drop:
                continue
            metric = {"__name__": "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "gpu": str(i), "UUID": uuid(device), "Hostname": host,
                      "instance": "10.0.0.7:9400", "modelName": "NVIDIA H100 80GB HBM3", "DCGM_FI_DRIVER_VERSION": driver}
            first = p[0][1]
            result.append({"metric": metric, "values": [[t, str(first + int((mj - first) * factor))] for t, mj in p]})
        with open(self.path(name + ".json"), "w") as f:
            json.dump({"status": "success", "data": {"resultType": "matrix", "result": result}}, f)
        # the clock of the simulation begins 30 s before its window of two minutes
        self.call("import", self.path(name + ".json"), "-o", self.path(name + ".jmr"), "--since", "30s", "--until", "150s", "--force")
        return self.path(name + ".jmr")

    def test_prometheus(self):
        cal = self.calibrate("prom", [x for x in LEVELS if x != "0.55"])
        run = self.series("fleet")
        x, j = self.wall(run, cal)
        lo, hi = x["interval"]["lo"], x["interval"]["hi"]
        self.assertEqual(j["windows"][0]["seconds"], 120)
        self.assertTrue(lo <= self.truth("0.55") <= hi, (lo, self.truth("0.55"), hi))
        self.assertLessEqual((hi - lo) / 2, 0.03 * x["value"])  # a scrape every 5 s adds the edges of the window
        self.assertIn("calibrated estimate", x["instrument"])
        self.assertFalse([r for r in j["results"] if r["boundary"] == "wall" and r["provenance"] == "measured"])
        page = self.path("fleet.html")
        self.call("report", run, "--calibration", cal, "-o", page, status=(0, 3))
        with open(page, encoding="utf-8") as f:
            self.assertIn("calibrated estimate", f.read())
        # three times the power is beyond what was calibrated
        x, _ = self.wall(self.series("hot", factor=3), cal)
        self.assertIsNone(x["value"])
        self.assertIn("calibration-range", x["validity"]["reasons"])
        for name, kw, word, allow in (
            ("host", {"host": "node99"}, "node99", "--allow-machine"),
            ("boards", {"uuid": lambda u: u.replace("GPU-5", "GPU-6")}, "none of its 4 GPUs", "--allow-machine"),
            ("three", {"drop": (1,)}, "only 3 of its 4", "--allow-machine"),
            ("driver", {"driver": "570.86.15"}, "570.86.15", "--allow-driver"),
        ):
            with self.subTest(name):
                run = self.series(name, **kw)
                err = self.call("show", run, "--calibration", cal, status=(2,))
                self.assertIn(word, err)
                self.assertIn(allow, err)
                x, _ = self.wall(run, cal, allow)
                self.assertIn("allowed", x["instrument"])


if __name__ == "__main__":
    tap.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""joulemark sim node --minutes: a node in virtual time as a run file, held to what its parts truly drew."""
import json
import os
import shutil
import subprocess
import tempfile
import unittest

import tap

JOULEMARK = os.environ["JOULEMARK"]


class SimNode(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="sim_node_test.")
        self.addCleanup(shutil.rmtree, self.dir)
        self.file = os.path.join(self.dir, "out", "node.jmr")
        self.truth = os.path.join(self.dir, "truth.json")

    def joulemark(self, *args, status=0):
        r = subprocess.run([JOULEMARK, *args], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
        self.assertEqual(r.returncode, status, r.stderr + r.stdout[-2000:])
        return r

    def node(self, *args, **kw):
        return self.joulemark("sim", "node", "--minutes", "0.5", "-o", self.file, "--truth", self.truth, *args, **kw)

    def show(self, path=None):
        return json.loads(self.joulemark("show", path or self.file, "--json").stdout)

    def parts(self, kind):
        with open(self.truth) as f:
            return [p for p in json.load(f)["parts"] if p["kind"] == kind]

    def test_boundaries(self):
        r = self.node("--seed", "5")
        self.assertEqual(r.stdout.strip(), self.file)
        self.assertEqual(os.listdir(os.path.dirname(self.file)), ["node.jmr"])  # nothing of the way there is left
        j = self.show()
        self.assertTrue(any(f["id"] == "run.simulated" for f in j["validity"]["findings"]))
        for boundary, kind in ("gpu", "gpu"), ("node", "node"), ("wall", "inlet_ac"):
            e = [x for x in j["results"] if x["metric"] == "energy" and x["boundary"] == boundary]
            self.assertEqual(len(e), 1)
            true = sum(p["joules"] for p in self.parts(kind))
            self.assertEqual(e[0]["provenance"], "simulated")
            # what an instrument states of itself: 2 % on each board, 1 % at the BMC, 0.1 % at the analyzer, and a late or
            # averaging one what the power may do meanwhile (here below 1 %)
            tolerance = {"gpu": 0.021, "node": 0.02, "wall": 0.0015}[boundary]
            self.assertLess(abs(e[0]["value"] / true - 1), tolerance, boundary)

    def test_parts_add_up(self):
        """inlet = losses + node, node = its parts, and so for any two times"""
        out = self.joulemark("sim", "node", "--minutes", "0.2", "--between", "1.2345,9.87654").stdout
        t = json.loads(out)
        by = {p["part"]: p for p in t["parts"]}
        self.assertAlmostEqual(t["seconds"], 8.64204, 9)
        for kind, leave in ("inlet_ac", "psu"), ("node", None), ("tray", None):
            whole = [p for p in t["parts"] if p["kind"] == kind][0]
            children = [p for p in t["parts"] if p["parent"] == whole["part"] and p["kind"] != leave]
            self.assertGreater(len(children), 1)
            self.assertAlmostEqual(sum(c["joules"] for c in children) / whole["joules"], 1, 12)
        supplies = sum(p["joules"] for p in t["parts"] if p["kind"] == "psu")
        self.assertAlmostEqual(supplies / by[0]["joules"], 1, 12)
        for p in t["parts"]:
            self.assertGreaterEqual(p["mean_w"] * (1 + 1e-12), p["min_w"])
            self.assertLessEqual(p["mean_w"], p["max_w"] * (1 + 1e-12))

    def test_supplies_by_the_table(self):
        """one supply at 2,000 W of 4,000 W: 80 PLUS titanium, 96 % there: 83.33 W of loss"""
        # idle boards (72.5 W, twice) and all else off but the board's rail: 145 + 1855 = 2000 W, constant
        args = ["--minutes", "0.1", "--load", "0", "--gpus", "2", "--psus", "1", "--psu-rated", "4000", "--board", "1755",
                "--cpu-idle", "0", "--cpu-busy", "0", "--cpu-own", "0", "--dram", "0", "--nic", "0", "--storage", "0", "--switch", "0",
                "--fans", "0", "--between", "0,6"]
        t = json.loads(self.joulemark("sim", "node", *args).stdout)
        part = {p["kind"]: p for p in t["parts"]}
        node, loss = part["node"]["mean_w"], part["psu_loss"]["mean_w"]
        # the engines' boards idle with a model loaded; what the table says at 50 % holds at exactly 50 %
        share = node / 4000
        at = {0.2: 0.2 * 4000 * (1 / 0.94 - 1), 0.5: 0.5 * 4000 * (1 / 0.96 - 1), 1.0: 4000 * (1 / 0.91 - 1)}
        lo, hi = (0.2, 0.5) if share <= 0.5 else (0.5, 1.0)
        self.assertAlmostEqual(loss, at[lo] + (at[hi] - at[lo]) * (share - lo) / (hi - lo), 6)
        self.assertAlmostEqual(part["inlet_ac"]["mean_w"], node + loss, 6)

    def test_same_seed_same_digits(self):
        def energy(*args):
            self.node("--force", *args)
            return [x["value"] for x in self.show()["results"] if x["metric"] == "energy"]

        a, b, c = energy("--seed", "7"), energy("--seed", "7"), energy("--seed", "8")
        self.assertEqual(a, b)
        self.assertNotEqual(a, c)

    def test_fans_at_full_speed(self):
        out = self.joulemark("sim", "node", "--minutes", "0.1", "--fans-least", "1", "--between", "0,6").stdout
        fans = [p for p in json.loads(out)["parts"] if p["kind"] == "fans"][0]
        self.assertAlmostEqual(fans["mean_w"], 1100, 6)  # always at full speed: the cube of 1

    def test_instruments_can_be_set(self):
        config = os.path.join(self.dir, "node.conf")
        with open(config, "w") as f:
            f.write("# a node whose BMC shows a tenth too much\nload 0.3\ninstrument bmc.power:gain=1.1,tol=0.1\ninstrument pdu:off=1\n")
        self.node("--config", config, "--instrument", "analyzer.power:off")
        j = self.show()
        boundaries = {x["boundary"] for x in j["results"] if x["metric"] == "energy"}
        self.assertNotIn("wall", boundaries)
        e = [x for x in j["results"] if x["metric"] == "energy" and x["boundary"] == "node"][0]["value"]
        self.assertAlmostEqual(e / self.parts("node")[0]["joules"], 1.1, 2)

    def test_readings_alone(self):
        readings = os.path.join(self.dir, "r.jsonl")
        self.joulemark("sim", "node", "--minutes", "0.1", "--readings", readings)
        self.joulemark("import", readings, "-o", self.file)
        self.assertEqual(self.show()["run"]["kind"], "imported")
        with open(readings) as f:
            lines = f.read().splitlines()
        self.assertEqual(json.loads(lines[0])["schema"], "joulemark-sim.readings/1")

    def test_bad_readings(self):
        good = self.joulemark("sim", "node", "--minutes", "0.05", "--lead", "2", "--gpus", "1").stdout.splitlines()
        path = os.path.join(self.dir, "bad.jsonl")

        def refused(lines, word):
            with open(path, "w") as f:
                f.write("\n".join(lines) + "\n")
            r = subprocess.run([JOULEMARK, "import", "--from", "sim-node", path, "-o", self.file], capture_output=True, text=True, timeout=60)
            self.assertNotEqual(r.returncode, 0)
            self.assertIn(word, r.stderr)
            self.assertFalse(os.path.exists(self.file))

        def changed(key, new):
            out = []
            for line in good:
                j = json.loads(line)
                if key in j and new is not None:
                    j.update(new)
                    line = json.dumps(j)
                out.append(line)
            return out

        k = max(i for i, line in enumerate(good) if '"domain":' in line and '"channel":' not in line)
        c = next(i for i, line in enumerate(good) if '"channel":' in line)
        late = json.loads(good[k])
        late.update(domain=late["domain"] + 1, key="late")
        refused(good[:c + 1] + [json.dumps(late)] + good[c + 1:], "before the first channel")
        refused(good[:-1], "cut")
        refused(changed("domain", {"parent": 77}), "domain")
        refused(changed("channel", {"domain": 999}), "channel")
        refused(changed("channel", {"kind": "guess"}), "channel")
        refused(changed("window", {"t1": 0}), "window")
        refused(changed("readings", {"v": [1, 2]}), "lacks numbers")
        refused(changed("readings", {"v": [5, 4, 1]}), "before")
        refused(changed("readings", {"v": ["a"]}), "whole numbers")
        refused(changed("readings", {"readings": 12345}), "named before")
        refused(changed("clock", {"clock": [1, 2]}), "clock")
        refused(changed("request", {"request": [3, 2, 1]}), "request")
        refused(['{"schema":"other"}'] + good[1:], "schema")
        refused([good[0], "[1]"], "object")

    def test_usage(self):
        for args, word in (
            (("--load", "1.5"), "--load"),
            (("--minutes", "0"), "--minutes"),
            (("--gpus", "2.5"), "--gpus"),
            (("--psu", "bronze"), "titanium"),
            (("--dram", "80 V"), "80 V"),
            (("--instrument", "bmc"), "NAME:key"),
            (("--instrument", "ups.power:lag=1"), "ups.power"),
            (("--instrument", "bmc:weight=1"), "weight"),
            (("--between", "3"), "FROM,TO"),
            (("--host", "a/b"), "host"),
            (("--nonsense", "1"), "nonsense"),
        ):
            r = self.joulemark("sim", "node", "--minutes", "0.1", *args, status=2)
            self.assertIn(word, r.stderr)
        self.node()
        self.assertIn("--force", self.node(status=4).stderr)
        self.assertIn("--instrument", self.joulemark("sim", "node", "--minutes", "1", "--help").stdout)


if __name__ == "__main__":
    tap.main()

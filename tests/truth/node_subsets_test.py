#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Nothing is counted twice, whatever the set of instruments: a simulated node with every single instrument, every pair
and all of them; at each boundary the energy is that of the parts that the result names, as they truly drew it."""
import itertools
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import tap

JOULEMARK = os.environ["JOULEMARK"]
ALL = ["gpu.energy", "gpu.power", "gpu.instant", "rapl.package", "rapl.dram", "bmc.power", "pdu.power", "pdu.energy", "analyzer.power"]
# What each instrument may be off by here: what it states, and what it cannot see in 20 s (25 of 100 ms; 10 W steps).
TOLERANCE = {"gpu": 0.03, "package": 0.015, "dram": 0.025, "node": 0.025, "psu": 0.02, "inlet_ac": 0.02}
OPTIONS = ["--minutes", "0.3", "--lead", "12", "--gpus", "4", "--seed", "9"]


class Subsets(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="node_subsets.")
        self.addCleanup(shutil.rmtree, self.dir)

    def run_one(self, args):
        r = subprocess.run([JOULEMARK, *args], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
        self.assertEqual(r.returncode, 0, r.stderr)
        return r.stdout

    def test_every_pair(self):
        truth = json.loads(self.run_one(["sim", "node", *OPTIONS, "--between", "0,18"]))
        drew = {}
        for p in truth["parts"]:
            drew.setdefault(p["kind"], []).append(p["joules"])
        sets = [set(s) for k in (1, 2) for s in itertools.combinations(ALL, k)] + [set(ALL)]
        path = os.path.join(self.dir, "n.jmr")
        seen = set()
        for kept in sets:
            off = [w for name in ALL if name not in kept for w in ("--instrument", name + ":off")]
            self.run_one(["sim", "node", *OPTIONS, *off, "-o", path, "--force"])
            r = subprocess.run([JOULEMARK, "show", path, "--json"], capture_output=True, text=True, timeout=60)
            self.assertIn(r.returncode, (0, 3), r.stderr)
            for x in json.loads(r.stdout)["results"]:
                if x["metric"] != "energy" or x.get("value") is None:
                    continue
                inside = re.fullmatch(r"\w+\{(.*)\}", x["set"]).group(1)
                true, bound = 0, 0
                for part in inside.split(","):
                    kind, _, n = part.partition(" x ")
                    n = int(n or 1)
                    self.assertLessEqual(n, len(drew[kind]), x["set"])
                    if x.get("have") == x.get("of"):
                        self.assertEqual(n, len(drew[kind]), (kept, x["set"]))
                    true += sum(drew[kind][:n])
                    bound += sum(drew[kind][:n]) * TOLERANCE[kind]
                if x.get("have") != x.get("of"):
                    continue
                self.assertLessEqual(abs(x["value"] - true), bound, (kept, x["set"], x["value"], true))
                seen.add((x["boundary"], x["set"]))
        # the test has seen what it is about
        self.assertIn(("device", "device{package x 2,dram,gpu x 4}"), seen)
        self.assertTrue({"gpu", "node", "wall"} <= {b for b, _ in seen})


if __name__ == "__main__":
    tap.main()

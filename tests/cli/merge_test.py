#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""joulemark merge: several hosts in one run, held to the runs they came from and to what the hosts truly drew."""
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import tap

JOULEMARK = os.environ["JOULEMARK"]
MINUTES = "0.3"


class Merge(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.mkdtemp(prefix="merge_test.")
        # a has the load generator; b was recorded beside it on a machine that was started 500 s later, by the same UTC
        cls.call("sim", "node", "--minutes", MINUTES, "--gpus", "4", "--seed", "3", "--host", "nodea", "-o", cls.path("a.jmr"))
        lines = cls.call("sim", "node", "--minutes", MINUTES, "--gpus", "4", "--seed", "4", "--host", "nodeb", "--load", "0.9").splitlines()
        cls.write("b.jsonl", lines)
        cls.call("import", cls.path("b.jsonl"), "-o", cls.path("b.jmr"))

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.dir)

    @classmethod
    def path(cls, name):
        return os.path.join(cls.dir, name)

    @classmethod
    def write(cls, name, lines):
        """the readings of a host whose monotonic clock began 500 s later, and which has no load generator"""
        d = 500 * 10**9
        with open(cls.path(name), "w") as f:
            for line in lines:
                j = json.loads(line)
                if "request" in j:
                    continue
                if "clock" in j:
                    j["clock"][0] -= d
                    j["clock"][2] -= d
                if "readings" in j:
                    j["v"] = [x - d if i % 3 < 2 else x for i, x in enumerate(j["v"])]
                if "window" in j:
                    j["t0"] -= d
                    j["t1"] -= d
                f.write(json.dumps(j) + "\n")

    @classmethod
    def call(cls, *args, status=0):
        r = subprocess.run([JOULEMARK, *args], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
        assert r.returncode == status, (args, r.returncode, r.stderr, r.stdout[-1000:])
        return r.stderr if status else r.stdout

    def merge(self, *args, status=0):
        return self.call("merge", self.path("a.jmr"), self.path("b.jmr"), "-o", self.path("m.jmr"), "--force", *args, status=status)

    def show(self, name):
        r = subprocess.run([JOULEMARK, "show", self.path(name), "--json"], capture_output=True, text=True, timeout=60)
        self.assertIn(r.returncode, (0, 3), r.stderr)
        return json.loads(r.stdout)

    def energy(self, j, boundary):
        (x,) = [x for x in j["results"] if x["metric"] == "energy" and x["boundary"] == boundary]
        return x

    def findings(self, j, id):
        return [f for f in j["validity"]["findings"] if f["id"] == id]

    def test_two_hosts(self):
        self.merge()
        m, a, b = (self.show(x) for x in ("m.jmr", "a.jmr", "b.jmr"))
        self.assertEqual(len(m["windows"]), 1)  # that of the run with requests
        for boundary in "gpu", "device", "node", "wall":
            x = self.energy(m, boundary)
            alone = self.energy(a, boundary)["value"] + self.energy(b, boundary)["value"]
            self.assertAlmostEqual(x["value"] / alone, 1, 5)
            self.assertEqual(x["have"], self.energy(a, boundary)["have"] + self.energy(b, boundary)["have"])
        self.assertEqual(m["requests"]["ok"], a["requests"]["ok"])
        # tokens once, the joules of both
        (t,) = [x for x in m["results"] if x["metric"] == "j_per.output_token" and x["boundary"] == "gpu"]
        self.assertAlmostEqual(t["value"], self.energy(m, "gpu")["value"] / a["tokens"]["output"], 2)
        env = m["run"]["environment"]
        self.assertEqual((env["merge.0.host"], env["merge.1.host"]), ("nodea", "nodeb"))
        self.assertEqual(env["merge.1.shift_ns"], str(500 * 10**9))
        self.assertEqual(float(env["merge.1.clock.bound_s"]), 0.001)
        self.assertFalse(self.findings(m, "merge.clock") + self.findings(m, "merge.coverage"))

    def test_groups(self):
        self.merge("-g", "left=nodea:0,1", "-g", "right=nodea:2,3,nodeb:0", "--label", "groups")
        m, a, b = (self.show(x) for x in ("m.jmr", "a.jmr", "b.jmr"))

        def boards(j):
            e = [x for x in j["energy"] if x["source"].startswith("nvml energy") or "energy since" in x["source"]]
            return [x["joules"] for x in sorted(e, key=lambda x: x["label"])]

        on_a, on_b = boards(a), boards(b)
        self.assertEqual((len(on_a), len(on_b)), (4, 4))
        left, right = m["groups"]
        self.assertEqual((left["name"], left["of"], right["of"]), ("left", 2, 3))
        self.assertAlmostEqual(left["joules"] / sum(on_a[:2]), 1, 6)
        self.assertAlmostEqual(right["joules"] / (sum(on_a[2:]) + on_b[0]), 1, 5)
        # only GPUs of a group serve; the other three are a line of their own
        self.assertEqual(self.energy(m, "gpu")["of"], 5)
        self.assertAlmostEqual(self.energy(m, "gpu")["value"] / (left["joules"] + right["joules"]), 1, 9)
        others = [x for x in m["results"] if x["metric"] == "energy.other_gpus"]
        self.assertAlmostEqual(others[0]["value"] / sum(on_b[1:]), 1, 5)
        text = self.call("show", self.path("m.jmr"))
        self.assertIn("Groups", text)
        self.assertTrue(all(len(line) <= 80 for line in text.splitlines()), text)

    def test_prefill_and_decode(self):
        self.merge("-g", "pre=nodea", "-g", "dec=nodeb", "--role", "pre=prefill", "--role", "dec=decode")
        m, a, b = (self.show(x) for x in ("m.jmr", "a.jmr", "b.jmr"))
        pre, dec = m["groups"]
        self.assertAlmostEqual(pre["joules"] / self.energy(a, "gpu")["value"], 1, 6)
        self.assertEqual(pre["per"], "input token")
        self.assertEqual(pre["tokens"], a["tokens"]["input"])
        self.assertAlmostEqual(pre["j_per_token"], pre["joules"] / a["tokens"]["input"], 9)
        # tokens after the first one of each request that was prefilled in the window: one a request less
        self.assertEqual(dec["per"], "decode token")
        self.assertLess(dec["tokens"], a["tokens"]["output"])
        self.assertAlmostEqual(a["tokens"]["output"] - dec["tokens"], a["requests"]["ok"], delta=0.1 * a["requests"]["ok"])

    def test_clock_bound(self):
        self.call("sim", "node", "--minutes", MINUTES, "--gpus", "1", "--host", "late", "--load", "0", "--clock-bound", "0.7", "-o", self.path("late.jmr"), "--force")
        self.call("merge", self.path("a.jmr"), self.path("late.jmr"), "-o", self.path("l.jmr"), "--force")
        (f,) = self.findings(self.show("l.jmr"), "merge.clock")
        self.assertEqual(f["severity"], "warning")
        self.assertIn("0.701", f["text"])  # both may be wrong: 0.7 + 0.001
        self.call("merge", self.path("a.jmr"), self.path("late.jmr"), "-o", self.path("l.jmr"), "--force", "--tolerance", "50ms")
        (f,) = self.findings(self.show("l.jmr"), "merge.clock")
        self.assertEqual(f["severity"], "error")
        self.call("merge", self.path("a.jmr"), self.path("late.jmr"), "-o", self.path("l.jmr"), "--force", "--tolerance", "1s")
        self.assertFalse(self.findings(self.show("l.jmr"), "merge.clock"))
        self.call("sim", "node", "--minutes", MINUTES, "--gpus", "1", "--host", "mute", "--load", "0", "--clock-bound", "-1", "-o", self.path("mute.jmr"), "--force")
        self.call("merge", self.path("a.jmr"), self.path("mute.jmr"), "-o", self.path("l.jmr"), "--force")
        (f,) = self.findings(self.show("l.jmr"), "merge.clock")
        self.assertIn("nobody tells", f["text"])

    def test_does_not_cover(self):
        """a clock that is 40 s ahead: by UTC its recording begins 40 s later, 40 s - 30 s after the window did"""
        self.call("sim", "node", "--minutes", MINUTES, "--gpus", "1", "--host", "ahead", "--load", "0", "--clock-error", "40", "-o", self.path("ahead.jmr"), "--force")
        self.call("merge", self.path("a.jmr"), self.path("ahead.jmr"), "-o", self.path("c.jmr"), "--force")
        j = self.show("c.jmr")
        (f,) = self.findings(j, "merge.coverage")
        self.assertIn("ahead", f["text"])
        lacks = float(f["text"].split(": ")[1].split(" s")[0])
        self.assertAlmostEqual(lacks, 10, delta=0.5)
        x = self.energy(j, "node")
        self.assertEqual((x["have"], x["of"]), (1, 2))  # half a window of a host is no total
        self.assertEqual(x["validity"]["status"], "invalid")
        # two hours ahead: nothing of it is in the window, which ends 30 s and its length after a's first reading
        self.call("sim", "node", "--minutes", MINUTES, "--gpus", "1", "--host", "ahead", "--load", "0", "--clock-error", "7200", "-o", self.path("ahead.jmr"), "--force")
        self.call("merge", self.path("a.jmr"), self.path("ahead.jmr"), "-o", self.path("c.jmr"), "--force")
        (f,) = self.findings(self.show("c.jmr"), "merge.coverage")
        self.assertEqual(f["severity"], "error")
        apart = float(f["text"].split(" lies ")[1].split(" s behind")[0])
        self.assertAlmostEqual(apart, 7200 - 30 - 60 * float(MINUTES), delta=1)

    def test_same_name(self):
        """two machines that call themselves the same are two"""
        text = self.call("sim", "node", "--minutes", MINUTES, "--gpus", "4", "--seed", "8", "--host", "nodea", "--load", "0")
        with open(self.path("a2.jsonl"), "w") as f:
            f.write(text)
        self.call("import", self.path("a2.jsonl"), "-o", self.path("a2.jmr"))
        err = self.call("merge", self.path("a.jmr"), self.path("a2.jmr"), "-o", self.path("s.jmr"), "--force", status=4)
        self.assertIn("which is in a run before it too", err)  # the very boards: one machine after all
        with open(self.path("a2.jsonl"), "w") as f:
            f.write(re.sub(r"GPU-(\w{8})-\w{4}-", r"GPU-\1-abcd-", text))
        self.call("import", self.path("a2.jsonl"), "-o", self.path("a2.jmr"), "--force")
        self.call("merge", self.path("a.jmr"), self.path("a2.jmr"), "-o", self.path("s.jmr"), "--force")
        j = self.show("s.jmr")
        self.assertEqual(j["run"]["environment"]["merge.1.host"], "nodea#2")
        self.assertEqual(self.energy(j, "node")["have"], 2)

    def test_usage(self):
        for args, word in (
            (("-g", "x"), "NAME="),
            (("-g", "x=nodec:0"), "nodec"),
            (("-g", "x=nodea:7"), "none"),
            (("-g", "x=nodea:0", "-g", "y=nodea:0"), "twice"),
            (("-g", "x=nodea:0", "-g", "x=nodea:1"), "two groups"),
            (("-g", "x=nodea:0", "--role", "x=cook"), "cook"),
            (("-g", "x=nodea:0", "--role", "y=decode"), "no --group"),
            (("-g", "x=nodea:GPU-5"), "more than one"),
        ):
            err = self.merge(*args, status=2)
            self.assertIn(word, err)
        self.assertIn("-o", self.call("merge", self.path("a.jmr"), status=2))
        self.assertIn("another file", self.call("merge", self.path("a.jmr"), "-o", self.path("a.jmr"), "--force", status=2))
        self.assertIn("m.jmr", self.merge("--json"))


if __name__ == "__main__":
    tap.main()

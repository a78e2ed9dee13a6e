#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plans of slices, traces and scenarios, from the command line to the numbers, on the simulated node."""
import hashlib
import json
import os
import shutil
import sqlite3
import subprocess
import tempfile
import unittest

import simnode
import tap

JOULEMARK = os.environ["JOULEMARK"]

TOGETHER = """
slices:
  - {name: quick, concurrency: 2, isl: 64, osl: 16, quality: draft, tenant: north, slo-ttft: 1min}
  - {name: slow, rate: 10/s, arrivals: constant, isl: 512, osl: 16, tenant: south, replica: r1, slo-ttft: 1us}
  - {name: left, concurrency: 1, isl: 64, osl: 200, cancel: 100 % after 3 tokens}
"""
IN_TURN = """
sequential: true
slices:
  - {name: short, concurrency: 2, isl: 64, osl: 16}
  - {name: long, concurrency: 2, isl: 512, osl: 16, slo-ttft: 2s}
"""

class Slices(simnode.NodeCase):
    NODE = ("--engine", "8b-h100")

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="slices_test.")
        self.addCleanup(shutil.rmtree, self.dir)

    def path(self, name, text=None):
        path = os.path.join(self.dir, name)
        if text is not None:
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
        return path

    def bench(self, *args, status=0):
        run = self.path("x.jmr")
        r = subprocess.run([JOULEMARK, "bench", self.where["url"], "-o", run, "--force", "--idle", "0s", "-q", "--json", "--seed", "1",
                            "--ignore-eos", *args], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=300,
                           env=self.env)
        self.assertIn(r.returncode, (status, 3 if status == 0 else status), r.stderr)
        if status:
            return r.stderr
        db = sqlite3.connect(run)
        self.env_rows = dict(db.execute("select key, value from env"))
        db.close()
        return json.loads(r.stdout)

    def one(self, doc, **want):
        found = [x for x in doc["results"] if all(x.get(k) == v for k, v in want.items())]
        self.assertTrue(found, want)
        return found[0]

    def test_slices_at_once_share_the_energy(self):
        doc = self.bench("--slices", self.path("p.yaml", TOGETHER), "-t", "3s", "-w", "0s")
        slices = {s["name"]: s for s in doc["slices"]}
        self.assertEqual(set(slices), {"quick", "slow", "left"})
        self.assertEqual(slices["quick"]["quality"], "draft")
        self.assertEqual([self.env_rows["plan." + k] for k in ("quick.tenant", "slow.tenant", "slow.replica")], ["north", "south", "r1"])
        self.assertEqual({d["tenant"] for d in doc["phases"]["joules_per_request"] if "tenant" in d}, {"north", "south"})
        self.assertEqual(sum(s["ok"] for s in slices.values()), doc["requests"]["ok"])
        for name in ("quick", "slow"):
            x = self.one(doc, slice=name, metric="j_per.output_token", boundary="gpu")
            self.assertIsNone(x["value"])
            self.assertIn("slices-at-once", x["validity"]["reasons"])
        whole = [x for x in doc["results"] if x["metric"] == "j_per.output_token" and x["boundary"] == "gpu" and
                 "slice" not in x]
        self.assertGreater(whole[0]["value"], 0)
        rates = [self.one(doc, slice=n, metric="tokens_per_s")["value"] for n in ("quick", "slow")]
        total = [x for x in doc["results"] if x["metric"] == "tokens_per_s" and "slice" not in x][0]["value"]
        self.assertAlmostEqual(sum(rates), total, delta=1e-6 * total)
        # a contract each: nobody answers in a microsecond
        self.assertEqual(self.one(doc, slice="quick", metric="attainment")["value"], 1)
        self.assertEqual(self.one(doc, slice="slow", metric="attainment")["value"], 0)
        # the plan's own cancellations are no failures
        self.assertGreater(slices["left"]["cancelled"], 0)
        self.assertEqual(slices["left"]["cancelled"], slices["left"]["aborted"])
        self.assertEqual(doc["requests"]["failed"], 0)
        self.assertFalse([f for f in doc["validity"]["findings"] if f["id"] == "requests.failed"])
        text = subprocess.run([JOULEMARK, "show", self.path("x.jmr")], capture_output=True, text=True).stdout
        self.assertIn("Slices of the load", text)
        self.assertLessEqual(max(len(line) for line in text.splitlines()), 80)

    def test_slices_in_turn_have_their_own_joules(self):
        doc = self.bench("--slices", self.path("p.yaml", IN_TURN), "-t", "2s", "-w", "0.3s", "--cool-to", "150")
        cooled = [float(v) for k, v in self.env_rows.items() if k.endswith(".cooled_to_c")]
        self.assertTrue(len(cooled) == 1 and 0 < cooled[0] <= 150, cooled)  # as cool as that at once: five minutes are not waited for
        windows = [w["name"] for w in doc["windows"] if w["role"] == "measure"]
        self.assertEqual(windows, ["short", "long"])
        for name in windows:
            x = self.one(doc, slice=name, window=name, metric="j_per.output_token", boundary="gpu")
            self.assertGreater(x["value"], 0)
            self.assertAlmostEqual(x["value"], x["numerator"]["value"] / x["denominator"]["value"],
                                   delta=1e-9 * x["value"])
        self.assertTrue(all(s["alone"] for s in doc["slices"]))

    def test_slices_in_turn_forth_and_back(self):
        doc = self.bench("--slices", self.path("p.yaml", IN_TURN), "-t", "1s", "-w", "0s", "-n", "2", "--order", "abba",
                         "--cool-down", "200ms", "--cool-to", "1")  # which it never is
        windows = [w["name"] for w in doc["windows"] if w["role"] == "measure"]
        self.assertEqual(windows, ["short, trial 1 of 2", "long, trial 1 of 2", "long, trial 2 of 2", "short, trial 2 of 2"])
        self.assertEqual(sum(w["role"] == "cool-down" for w in doc["windows"]), 3)
        self.assertEqual([self.env_rows[k] for k in ("plan.order", "plan.order.0", "plan.order.1", "plan.cool_down_s")],
                         ["abba", "short, long", "long, short", "0.2"])
        self.assertEqual(self.env_rows["plan.cool_to_c"], "1")
        self.assertEqual(sum(k.endswith(".cooled_to_c") and float(v) > 1 for k, v in self.env_rows.items()), 3)
        text = subprocess.run([JOULEMARK, "show", self.path("x.jmr")], capture_output=True, text=True).stdout
        self.assertLessEqual(max(len(line) for line in text.splitlines()), 80)
        self.assertIn("J/token at the boundary gpu.", text)  # that of the headline, whatever else is in the host
        for name in ("short", "long"):  # over its own trials: half the sum, and t(0.975; 1) = 12.706 halves of the difference
            rows = [x for x in doc["results"] if x.get("slice") == name and x["metric"] == "j_per.output_token" and
                    x["boundary"] == "gpu"]
            a, b = (x["value"] for x in rows if "window" in x)
            over, = (x for x in rows if "window" not in x)
            self.assertAlmostEqual(over["value"], (a + b) / 2, delta=1e-9 * a)
            self.assertAlmostEqual(over["interval"]["hi"] - over["value"], 12.706205 * abs(a - b) / 2, delta=1e-6 * abs(a - b) + 1e-9 * a)
            self.assertEqual((over["n"], over["interval"]["method"], over["interval"]["dof"]), (2, "t over trials", 1))
            self.assertIn(f"  {name} over 2 trials: ", text)

    def test_a_trace_says_what_it_was(self):
        rows = "TIMESTAMP,ContextTokens,GeneratedTokens\r\n" + "\r\n".join(
            f"2023-11-16 18:17:0{i // 10}.{i % 10}000000,{100 + i},4" for i in range(20))
        trace = self.path("t.csv", rows)
        doc = self.bench("--trace", trace, "--time-scale", "2")
        self.assertEqual(doc["requests"]["ok"], 20)
        self.assertEqual(self.env_rows["load.trace.format"], "azure")
        with open(trace, "rb") as f:
            self.assertEqual(self.env_rows["load.trace.sha256"], hashlib.sha256(f.read()).hexdigest())
        self.assertEqual(self.env_rows["load.trace.time_scale"], "2")
        self.assertEqual((self.env_rows["load.synthetic"], self.env_rows["load.begun"]), ("yes", "20"))
        # 19 gaps of 50 ms on an absolute schedule
        self.assertAlmostEqual(float(self.env_rows["load.rate.scheduled"]), 20, delta=1e-3)
        self.assertEqual(doc["tokens"]["isl"]["mean"], 109.5)

    def test_a_scenario_is_unofficial(self):
        doc = self.bench("--scenario", "mlperf-server", "--benchmark", "llama3.1-8b", "--rate", "40/s", "--max-requests",
                         "40", "--isl", "32", "--osl", "4")
        self.assertEqual((self.env_rows["contract.ttft_s"], self.env_rows["contract.tpot_s"]), ("2", "0.1"))
        self.assertIn("mlperf.conf", self.env_rows["plan.scenario.source"])
        self.assertTrue([f for f in doc["validity"]["findings"] if f["id"] == "scenario.unofficial"])
        self.assertEqual(doc["requests"]["ok"], 40)

    def test_mistakes_are_told_before_anything_is_sent(self):
        for args, words in ((["--slices", self.path("p.yaml", "slices:\n  - {name: a, rtae: 1/s}\n")],
                             "p.yaml: line 2, column 15: unknown key \"rtae\"; did you mean \"rate\"?"),
                            (["--slices", self.path("q.yaml", TOGETHER), "--rate", "3/s"], "--rate: the slices of"),
                            (["--trace", self.path("t.csv", "t_s,isl,osl\n0,5,1\n1,-5,1\n")], "t.csv:3: a length is negative"),
                            (["--arrivals", "constant"], "--arrivals: belongs to a rate"),
                            (["--rate", "3/s", "--arrivals", "gamma"], "needs --burstiness"),
                            (["--scenario", "mlperf-server", "--benchmark", "resnet50", "--rate", "1/s"], "is not known"),
                            (["--scenario", "mlperf-offline"], "needs --benchmark"),
                            (["--cool-down", "5s"], "--cool-down: a pause lies between two windows"),
                            (["--cool-to", "45"], "--cool-to: a pause lies between two windows"),
                            (["--ramp", "1/s..2/s over 5s", "-n", "2"], "--trials: this load has an end of its own")):
            r = subprocess.run([JOULEMARK, "bench", self.where["url"], "-o", self.path("y.jmr"), *args], env=self.env,
                               capture_output=True, text=True, stdin=subprocess.DEVNULL)
            self.assertNotEqual(r.returncode, 0, args)
            self.assertIn(words, r.stderr)
            self.assertFalse(os.path.exists(self.path("y.jmr")))


tap.main()

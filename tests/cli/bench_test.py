#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""joulemark bench, idle and demo on the simulated node: from load to joules per token."""
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
import unittest

import simnode
import tap

JOULEMARK = os.environ["JOULEMARK"]
SHORT = ["-w", "1s", "--idle", "1s", "-q", "--json", "-c", "16", "--osl", "32", "--ignore-eos"]


class Node(simnode.NodeCase):
    """Each test has the run file of its own, the node (8 GPUs, one engine on four of them) is shared."""

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="bench_test.")
        self.addCleanup(shutil.rmtree, self.dir)
        self.file = os.path.join(self.dir, "x.jmr")

    def joulemark(self, *args, **kw):
        kw.setdefault("env", self.env)
        return subprocess.run([JOULEMARK, *args], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=300,
                              **kw)

    def rows(self, sql):
        db = sqlite3.connect(self.file)
        try:
            return db.execute(sql).fetchall()
        finally:
            db.close()

    def test_joules_per_token(self):
        r = self.joulemark("bench", self.where["url"], "-o", self.file, "-t", "6s", "-n", "2", "--slo-ttft", "2s",
                           "--slo-tpot", "200ms", *SHORT)
        self.assertEqual(r.returncode, 0, r.stdout[-3000:] + r.stderr)
        doc = json.loads(r.stdout)
        self.assertEqual([w["role"] for w in doc["windows"]], ["idle", "warm-up", "measure", "measure", "drain"])
        self.assertGreater(doc["requests"]["ok"], 0)
        self.assertEqual(doc["requests"]["failed"], 0)
        found = [x for x in doc["results"] if x["metric"] == "j_per.output_token" and x["boundary"] == "gpu" and
                 x["value"] is not None]
        self.assertTrue(found)
        for x in found:
            self.assertEqual(x["provenance"], "simulated")
            self.assertEqual((x["have"], x["of"]), (4, 4), "the GPUs of the engine's process alone")
            if "numerator" in x and x["numerator"]:
                self.assertAlmostEqual(x["value"], x["numerator"]["value"] / x["denominator"]["value"], delta=1e-9 * x["value"])
        self.assertEqual({t for (t,) in self.rows("select distinct trial from request")}, {0, 1})
        env = dict(self.rows("select key, value from env"))
        self.assertEqual((env["endpoint.local"], env["endpoint.simulated"], env["contract.ttft_s"]), ("1", "1", "2"))
        # the contract is the run's own: nobody has to give it again
        again = json.loads(self.joulemark("show", self.file, "--json").stdout)
        self.assertEqual(again["requests"]["qualified"], doc["requests"]["qualified"])
        self.assertGreater(again["requests"]["qualified"], 0)
        strict = json.loads(self.joulemark("show", self.file, "--json", "--slo-ttft", "1us").stdout)
        self.assertEqual(strict["requests"]["qualified"], 0)

    def test_open_loop_is_repeatable_in_its_plan(self):
        r = self.joulemark("bench", self.where["url"], "-o", self.file, "-t", "5s", "--rate", "6/s", "--seed", "7", *SHORT)
        self.assertIn(r.returncode, (0, 3), r.stderr)
        env = dict(self.rows("select key, value from env"))
        self.assertEqual((env["plan.rate_per_s"], env["plan.shape"]), ("6", "poisson, 6/s"))
        n, first, last = self.rows("select count(*), min(scheduled), max(scheduled) from request")[0]
        due = 6 * (last - first) / 1e9  # of 6 s at 6/s, Poisson: within 5 standard deviations
        self.assertTrue(20 < due and abs(n - due) < 5 * due ** 0.5, (n, due))

    def test_stops_in_order(self):
        child = subprocess.Popen([JOULEMARK, "bench", self.where["url"], "-o", self.file, "-t", "60s", *SHORT],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.env)
        self.await_load(child)
        time.sleep(5)  # the warm-up of 1 s is over
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=180)
        self.assertIn(child.returncode, (0, 3), err)
        self.assertEqual(json.loads(out)["windows"][-1]["role"], "drain")
        self.assertIn("plan.interrupted", dict(self.rows("select key, value from env")))

    def test_no_meter(self):
        env = {k: v for k, v in self.env.items() if k != "JM_NVML_LIB"}
        r = self.joulemark("bench", self.where["url"], "-o", self.file, "-t", "3s", "-m", "nvml", "--nvml-lib", "/nonexistent",
                           *SHORT, env=env)
        self.assertEqual(r.returncode, 3, r.stderr)
        self.assertIn("no meter can be read", r.stderr)
        doc = json.loads(r.stdout)
        self.assertGreater(doc["requests"]["ok"], 0, "the requests are kept")
        self.assertEqual(doc["validity"]["status"], "invalid")
        self.assertFalse([x for x in doc["results"] if x["metric"] == "j_per.output_token" and x["value"] is not None])
        self.assertTrue([x for x in doc["results"] if x["metric"] == "ttft" and x["value"] is not None])

    def test_loaded_idle(self):
        r = self.joulemark("idle", self.where["url"], "-o", self.file, "-t", "5s", "--settle", "0s", "--json", "-q")
        self.assertIn(r.returncode, (0, 3), r.stderr)
        env = dict(self.rows("select key, value from env"))
        self.assertEqual(env["idle.0.class"], "loaded")
        self.assertEqual(len(env["sut.gpus"].split(",")), 4)

    def test_unknown_model(self):
        r = self.joulemark("bench", self.where["url"], "-o", self.file, "-t", "2s", "--model", "nothing", *SHORT)
        self.assertIn(r.returncode, (3, 4), r.stderr)

    def test_idle_beside_an_engine_is_not_deep(self):
        r = self.joulemark("idle", "-t", "2s", "--settle", "0s", "-o", self.file, "--json", "-q", "-m", "nvml")
        self.assertIn(r.returncode, (0, 3), r.stderr)
        self.assertEqual([w["role"] for w in json.loads(r.stdout)["windows"]], ["idle"])
        text = self.joulemark("show", self.file).stdout  # a run of idle alone is about its power
        self.assertIn("Mean power at the boundary", text)
        self.assertRegex(text, r"power\.mean +[0-9]")
        self.assertEqual(dict(self.rows("select key, value from env"))["idle.0.class"], "loaded")


class Demo(unittest.TestCase):
    def test_demo(self):
        with tempfile.TemporaryDirectory() as d:
            r = subprocess.run([JOULEMARK, "demo"], capture_output=True, text=True, stdin=subprocess.DEVNULL, cwd=d,
                               timeout=300)
            self.assertEqual(r.returncode, 0, r.stdout + r.stderr)
            self.assertIn("SIMULATED", r.stdout)
            self.assertIn("SIMULATED", r.stderr)
            self.assertRegex(r.stdout, r"J/token")
            path = re.search(r"(?m)^Report: (.*)$", r.stdout).group(1)
            with open(os.path.join(d, path), encoding="utf-8") as f:
                self.assertIn("SIMULATED", f.read())
            for line in r.stdout.splitlines():
                self.assertLessEqual(len(line), 80, line)


tap.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ladders of load, trials until the interval is narrow, and bursts, from the command line to the numbers, on the simulated node."""
import json
import math
import os
import shutil
import sqlite3
import statistics
import subprocess
import tempfile
import unittest

import patience
import simnode
import tap

JOULEMARK = os.environ["JOULEMARK"]
T975 = {1: 12.706205, 4: 2.776445}  # of published tables: t(0.975; degrees of freedom)


class Ladder(simnode.NodeCase):
    NODE = ("--engine", "8b-h100")
    ASK = ("--isl", "64", "--osl", "16", "--ignore-eos", "--idle", "300ms", "--no-edge", "-q", "--json", "--seed", "1")

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="ladder_test.")
        self.addCleanup(shutil.rmtree, self.dir)
        self.run_file = self.path("x.jmr")

    def path(self, name, text=None):
        path = os.path.join(self.dir, name)
        if text is not None:
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
        return path

    def bench(self, *args, url=None, status=(0, 3)):
        r = subprocess.run([JOULEMARK, "bench", url or self.where["url"], "-o", self.run_file, "--force", *self.ASK, *args],
                           capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=300, env=self.env)
        self.assertIn(r.returncode, status, r.stderr)
        if r.returncode not in (0, 3):
            return r.stderr
        return json.loads(r.stdout)

    def measured(self, doc, *metrics):
        """A doc in whose windows something was measured: of a very short one a busy machine leaves nothing."""
        for x in doc["results"]:
            if x["metric"] in metrics and x["boundary"] in (None, "gpu") and "window" in x and not x["window"].startswith("load 0 %"):
                self.assertIsNotNone(x["value"], x)
        return doc

    def rows(self, sql):
        db = sqlite3.connect(self.run_file)
        try:
            return db.execute(sql).fetchall()
        finally:
            db.close()

    def env_rows(self):
        return dict(self.rows("select key, value from env"))

    def show(self, *args, status=(0, 3)):
        r = subprocess.run([JOULEMARK, "show", self.run_file, *args], capture_output=True, text=True)
        self.assertIn(r.returncode, status, r.stderr)
        return r.stdout if r.returncode in (0, 3) else r.stderr

    def figure(self, level, metric):
        found = [x for x in level["results"] if x["metric"] == metric]
        return found[0] if found else None

    def test_levels_of_a_given_capacity(self):
        doc = patience.again(lambda: self.measured(
            self.bench("--ladder", "--capacity", "40/s", "--levels", "100,50,0", "-n", "2", "--order", "abba", "-t", "500ms", "-w",
                       "200ms", "--slo-ttft", "1min"), "power.mean", "tokens_per_s", "j_per.qualified_token"))
        ladder = doc["ladder"]
        self.assertEqual((ladder["capacity"], ladder["by"], ladder["boundary"]), (40, "given", "gpu"))
        self.assertEqual([(x["percent"], x["offered"], x["windows"]) for x in ladder["levels"]], [(100, 40, 2), (50, 20, 2), (0, 0, 2)])
        env = self.env_rows()
        self.assertEqual([env[k] for k in ("plan.ladder", "plan.order.0", "plan.order.1", "plan.shape")],
                         ["100,50,0", "load 100 %, load 50 %, load 0 %", "load 0 %, load 50 %, load 100 %", "load ladder"])
        for level, name in zip(ladder["levels"], ("load 100 %", "load 50 %", "load 0 %")):
            for metric in ("power.mean", "j_per.qualified_token"):
                own = [x["value"] for x in doc["results"] if x["metric"] == metric and x["boundary"] == "gpu" and
                       x.get("window", "").startswith(name + ",")]
                x = self.figure(level, metric)
                if not level["percent"] and metric != "power.mean":
                    self.assertIsNone(x)
                    continue
                self.assertEqual(len(own), 2)
                # two trials: half the sum, and t(0.975; 1) halves of the difference
                self.assertAlmostEqual(x["value"], sum(own) / 2, delta=1e-9 * own[0])
                self.assertAlmostEqual(x["interval"]["hi"] - x["value"], T975[1] * abs(own[0] - own[1]) / 2,
                                       delta=1e-6 * own[0])
        # by hand: sum of tokens/s over sum of W, each trial, and their mean
        each = []
        for trial in (1, 2):
            of = lambda m, b, p: [x["value"] for x in doc["results"] if x["metric"] == m and x["boundary"] == b and
                                  x.get("window") == f"load {p} %, trial {trial} of 2"][0]
            each.append(sum(of("tokens_per_s", None, p) for p in (100, 50)) / sum(of("power.mean", "gpu", p) for p in (100, 50, 0)))
        overall = [x for x in ladder["overall"] if x["metric"] == "ladder.tokens_per_j"][0]
        self.assertAlmostEqual(overall["value"], sum(each) / 2, delta=1e-9 * each[0])
        text = self.show()
        self.assertIn("Load ladder", text)
        self.assertLessEqual(max(len(line) for line in text.splitlines()), 80)
        self.assertIn("<table id='ladder'>", self.show("-f", "html"))
        self.assertIn("| idle |", self.show("-f", "markdown"))
        self.days(doc)

    def days(self, doc):
        """A day of it: hours at a level cost what the level draws, hours between two what lies on the line."""
        p = [self.figure(x, "power.mean")["value"] for x in doc["ladder"]["levels"]]
        day = self.path("day.csv", "hour,load\n" + "".join(f"{h},{[0, 0.5, 0.75, 1][h // 6]}\n" for h in range(24)))
        d = json.loads(self.show("--diurnal", day, "--json"))["ladder"]["diurnal"]
        self.assertEqual([d[k] for k in ("steps", "at_level", "interpolated", "refused")], [24, 18, 6, 0])
        energy, = (x for x in d["results"] if x["metric"] == "day.energy")
        self.assertAlmostEqual(energy["value"], 6 * (p[2] + p[1] + (p[0] + p[1]) / 2 + p[0]) / 1000, delta=1e-9 * p[0])
        self.assertIn("interpolation between levels", energy["interval"]["excludes"])
        r = subprocess.run([JOULEMARK, "report", self.run_file, "--diurnal", day, "-o", self.path("day.html")], capture_output=True, text=True)
        self.assertIn(r.returncode, (0, 3), r.stderr)
        with open(self.path("day.html"), encoding="utf-8") as f:
            self.assertRegex(f.read(), r"A day of [^<]*day\.csv \(ESTIMATE\): [\d.]+ kWh")
        self.assertAlmostEqual(d["left_out_error"], abs((p[0] + p[2]) / 2 / p[1] - 1), delta=1e-9)
        rates = self.path("rates.csv", "hour,requests_per_s\n" + "".join(f"{h},{20 if h else 41}\n" for h in range(24)))
        d = json.loads(self.show("--diurnal", rates, "--json"))["ladder"]["diurnal"]
        self.assertEqual((d["refused"], d["refused_most_percent"]), (1, 102.5))
        self.assertTrue(all(x["value"] is None and "load-not-measured" in x["validity"]["reasons"] for x in d["results"]))
        self.assertIn("outside of the measured levels", " ".join(self.show("--diurnal", rates).split()))
        self.assertIn("line 3: this hour is not later", self.show("--diurnal", self.path("bad.csv", "hour,load\n1,0.5\n1,0.5\n"), status=(2,)))
        self.assertIn("no rows", self.show("--diurnal", self.path("bad.csv", "Hour,Load\n"), status=(2,)))

    def test_the_capacity_is_found(self):
        engine = subprocess.Popen([JOULEMARK, "sim", "engine", "--max-num-seqs", "8"], stdout=subprocess.PIPE, text=True)
        try:
            self.bench("--ladder", "--levels", "50", "--probe", "300ms", "-t", "300ms", "-w", "0s", "--slo-ttft", "1h", "--drain", "500ms",
                       url=json.loads(engine.stdout.readline())["url"])
        finally:
            engine.kill()
            engine.communicate()
        env = self.env_rows()
        steps = [env[f"ladder.search.{i}"] for i in range(1, 40) if f"ladder.search.{i}" in env]
        self.assertTrue(steps[0].startswith("8 users: "), steps)
        self.assertIn("inside the contract", steps[-1])
        self.assertGreater(float(env["ladder.capacity"]), 0)
        offered, = (float(v) for k, v in env.items() if k.endswith(".offered"))
        self.assertAlmostEqual(offered, float(env["ladder.capacity"]) / 2, delta=1e-6 * offered)
        # what was tried stands in the run, and in no result
        self.assertEqual({role for role, name in self.rows("select role, name from window") if name.startswith("capacity, ")}, {"warm-up"})

    def test_trials_until_the_interval_is_narrow(self):
        doc = patience.again(self.until_narrow)
        windows = [(w["role"], w["name"]) for w in doc["windows"]]
        self.assertEqual([n for r, n in windows if r == "measure"], [f"trial {i}" for i in range(1, 6)])
        self.assertEqual([n for r, n in windows if r == "warm-up"], ["burst prefill", "burst decode", "warm-up"])
        self.assertLess(windows.index(("idle", "loaded idle")), windows.index(("warm-up", "burst prefill")))
        one = lambda name: self.rows("select q.output_tokens, q.prompt_tokens from request q, window w where w.name = '" + name +
                                     "' and q.scheduled between w.t0 and w.t1 and q.end = 'ok'")
        self.assertEqual({out for out, _ in one("burst prefill")}, {1})
        self.assertGreater(len({n for _, n in one("burst prefill")}), 3)  # prompts of several lengths
        self.assertTrue(all(out >= 100 and n <= 64 for out, n in one("burst decode")))
        own = [x["value"] for x in doc["results"] if x["metric"] == "j_per.output_token" and x["boundary"] == "gpu" and "window" in x]
        over, = (x for x in doc["results"] if x["metric"] == "j_per.output_token" and x["boundary"] == "gpu" and "window" not in x)
        self.assertEqual((over["n"], over["interval"]["method"]), (5, "t over trials, sequential"))
        half = T975[4] * statistics.stdev(own) / math.sqrt(5)
        self.assertAlmostEqual(over["interval"]["hi"] - over["value"], half, delta=1e-5 * half)
        self.assertFalse([n for n in os.listdir(self.dir) if n != "x.jmr"], "the copy that was looked at is gone")

    def until_narrow(self):
        """Five trials do, unless this machine made them very unlike."""
        doc = self.measured(self.bench("--until", "50%", "-n", "6", "-c", "4", "-t", "400ms", "-w", "100ms", "--phase-bursts",
                                       "--burst-length", "1s"), "j_per.output_token")
        own = [x["value"] for x in doc["results"] if x["metric"] == "j_per.output_token" and x["boundary"] == "gpu" and "window" in x]
        self.assertLessEqual(T975[4] * statistics.stdev(own[:5]) / math.sqrt(5), 0.5 * statistics.mean(own[:5]))
        return doc

    def test_a_load_that_pauses_between_trials(self):
        doc = patience.again(lambda: self.measured(self.bench("-c", "2", "-n", "2", "-t", "500ms", "-w", "100ms", "--cool-down", "200ms"),
                                                   "j_per.output_token"))
        self.assertEqual([w["role"] for w in doc["windows"]],
                         ["idle", "warm-up", "measure", "drain", "cool-down", "warm-up", "measure", "drain"])
        self.assertEqual([x["n"] for x in doc["results"] if x["metric"] == "j_per.output_token" and x["boundary"] == "gpu" and
                          "window" not in x], [2])

    def test_a_plan_in_one_file(self):
        plan = self.path("p.yaml", "trials: 2\ncool-down: 100ms\nduration: 400ms\nwarmup: 100ms\nladder: 100,0\ncapacity: 30/s\nslices:\n"
                         "  - {name: a, rate: 2/s, isl: 64, osl: 8}\n  - {name: b, rate: 1/s, isl: 64, osl: 8}\n")
        r = subprocess.run([JOULEMARK, "bench", self.where["url"], "-o", self.run_file, "--idle", "0s", "--no-edge", "-q", "--json", "--slices", plan],
                           capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=300, env=self.env)
        if "built without" in r.stderr:
            self.skipTest("no YAML")
        self.assertIn(r.returncode, (0, 3), r.stderr)
        doc = json.loads(r.stdout)
        self.assertEqual([x["windows"] for x in doc["ladder"]["levels"]], [2, 2])
        env = self.env_rows()
        self.assertEqual([env[k] for k in ("plan.a.rate_per_s", "plan.b.rate_per_s", "plan.trials")], ["20", "10", "2"])

    def test_an_engine_that_dies_leaves_what_was_measured(self):
        node = subprocess.Popen([JOULEMARK, "sim", "engine"], stdout=subprocess.PIPE, text=True)
        try:
            url = json.loads(node.stdout.readline())["url"]
            child = subprocess.Popen([JOULEMARK, "bench", url, "-o", self.run_file, *self.ASK, "--ladder", "--capacity", "20/s", "--levels",
                                      "100,50,40,30,20,10", "-t", "700ms", "-w", "0s", "--drain", "1s"], env=self.env, text=True,
                                     stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            patience.until(self.levels_begun)
            node.kill()
            node.wait()
            out, err = child.communicate(timeout=120)
        finally:
            node.kill()
            node.communicate()
        self.assertEqual(child.returncode, 4, err)
        self.assertIn("what was measured before is in", err)
        doc = json.loads(self.show("--json"))
        self.assertIn(100, [x["percent"] for x in doc["ladder"]["levels"]])
        self.assertIn("ladder.incomplete", [f["id"] for f in doc["validity"]["findings"]])

    def levels_begun(self):
        """The recording keeps its file to itself, and its journal has the facts of windows as they come."""
        try:
            with open(self.run_file + "-wal", "rb") as f:
                return b".level" in f.read()
        except OSError:
            return False

    def test_contradictions_are_told_before_anything_is_sent(self):
        for args, words in ((("--ladder", "-c", "8"), "--concurrency: the levels of a ladder are open loops"),
                            (("--ladder", "--rate", "3/s"), "--rate: the levels of a ladder"),
                            (("--ladder", "--ramp", "1/s..2/s over 5s"), "--ramp: the levels of a ladder"),
                            (("--levels", "100,0"), "--levels belongs to --ladder"),
                            (("--capacity", "3/s"), "--capacity belongs to --ladder"),
                            (("--until", "2%", "-n", "3"), "--until makes 5 trials at least"),
                            (("--cool-down", "1s"), "there is only one"),
                            (("--order", "abba", "-n", "2"), "one load has no order"),
                            (("--phase-bursts", "--idle", "0s"), "--phase-bursts: prefill and decode are told apart above loaded idle"),
                            (("--burst-length", "2s"), "belongs to --phase-bursts")):
            self.assertIn(words, self.bench(*args, status=(2,)), args)
            self.assertFalse(os.path.exists(self.run_file))


tap.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench against the truth of the simulated node: what it says of energy, tokens and requests is what really happened.

The truth of the boards is the exact integral of their power over the very windows of the run; that of the engine are
its own counts and stamps of every request and step. Both are written by programs that share nothing with joulemark.
Tolerances come from what the readings of the run can tell at best (edges.py), whenever they came: nothing depends on how
fast this machine is."""
import csv
import json
import os
import shutil
import subprocess
import tempfile
import unittest

import edges
import tap

JOULEMARK = os.environ["JOULEMARK"]
# A board draws no more, and while it idles no less; boards that do not serve hardly move.
MOST_W, SWING_W = 700, 600
IDLE_W, IDLE_SWING_W = 200, 30
EDGE_NS = 50_000_000  # tokens said so near to an edge may be on either side: they travel, and stamps are of two programs


class Truth(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.mkdtemp(prefix="truth_bench_test.")
        cls.addClassCleanup(shutil.rmtree, cls.dir)
        path = {name: os.path.join(cls.dir, name) for name in ("run.jmr", "prompts.jsonl", "truth.json")}
        # every request is recognised by its lengths: 24 by 25 of them
        with open(path["prompts.jsonl"], "w", encoding="utf-8") as f:
            for i in range(600):
                f.write(json.dumps({"prompt": "a " * (10 + 3 * (i % 24)), "max_tokens": 16 + i // 24}) + "\n")
        steps = os.path.join(cls.dir, "steps.tsv")
        node = subprocess.Popen([JOULEMARK, "sim", "node", "--gpus", "3", "--engine", f"8b-h100:steps={steps}",
                                 "--truth", path["truth.json"]], stdout=subprocess.PIPE, text=True)
        where = json.loads(node.stdout.readline())
        env = dict(os.environ, JOULEMARK_SIM_GPU=where["state"], JM_NVML_LIB=where["lib"])
        sim = os.environ.get("JM_SIM") or os.path.join(os.path.dirname(JOULEMARK), "sim", "joulemark-sim")
        try:
            r = subprocess.run([JOULEMARK, "bench", where["url"], "-m", "nvml", "-o", path["run.jmr"], "--prompts",
                                path["prompts.jsonl"], "--ignore-eos", "-c", "8", "-w", "1s", "--idle", "2s", "-t", "6s", "-n", "2",
                                "--json", "--all", "-q"], capture_output=True, text=True, env=env, timeout=120,
                               stdin=subprocess.DEVNULL)
            if r.returncode not in (0, 3):
                raise AssertionError(r.stderr)
            cls.doc = json.loads(r.stdout)
            cls.run_raw = edges.export(JOULEMARK, path["run.jmr"])
            cls.boards = {}
            for w in cls.run_raw["windows"]:
                out = subprocess.run([sim, "truth", "--from", f"@{w['t0_ns']}", "--to", f"@{w['t1_ns']}", where["state"]],
                                     check=True, capture_output=True, text=True).stdout
                cls.boards[w["name"]] = [g["energy_j"] for g in json.loads(out)["gpus"]]
        finally:
            node.terminate()
            node.communicate()
        with open(path["truth.json"], encoding="utf-8") as f:
            cls.engine = json.load(f)["engines"][0]
        with open(steps, encoding="utf-8", newline="") as f:
            cls.steps = list(csv.DictReader(f, delimiter="\t"))

    def results(self, metric, boundary=None):
        return [x for x in self.doc["results"] if x["metric"] == metric and (not boundary or x["boundary"] == boundary) and
                x.get("window") and x["value"] is not None and "quantile" not in x]

    def windows(self, role):
        return [w for w in self.run_raw["windows"] if w["role"] == role]

    def pairs(self):
        """Each request of the run with the engine's own record of it."""
        mine = {}
        for r in self.run_raw["requests"]:
            self.assertEqual(r["end"], "ok", r)
            mine.setdefault((r["prompt_tokens"], r["output_tokens"]), []).append(r)
        first = min(r["sent_ns"] for r in self.run_raw["requests"])
        theirs = {}
        for r in self.engine["request"]:
            if r["arrival_ns"] >= first:
                theirs.setdefault((r["prompt_tokens"], r["completion_tokens"]), []).append(r)
        self.assertEqual({k: len(v) for k, v in mine.items()}, {k: len(v) for k, v in theirs.items()},
                         "the same requests with the same tokens")
        for k, rows in mine.items():
            if len(rows) == 1:
                yield rows[0], theirs[k][0]

    def edges(self, name):
        """What each board's counter shows of the edges of a window; it moves every 100 ms."""
        w = next(w for w in self.run_raw["windows"] if w["name"] == name)
        return [edges.Edges(rows, w["t0_ns"], w["t1_ns"], 100_000_000) for rows in edges.readings(self.run_raw, "nvml", "energy")]

    def allowed(self, name):
        """J that the energy of the first board may be off, and of all."""
        seen = self.edges(name)
        self.assertEqual(len(seen), 3)
        first = seen[0].joules(SWING_W, MOST_W)
        return first, first + sum(e.joules(IDLE_SWING_W, IDLE_W) for e in seen[1:])

    def test_energy_of_every_window(self):
        seen = 0
        for boundary, boards in (("gpu", slice(0, 1)), ("device", slice(0, 3))):
            for x in self.results("energy", boundary):
                truth = sum(self.boards[x["window"]][boards])
                half = (x["interval"]["hi"] - x["interval"]["lo"]) / 2
                allowed = self.allowed(x["window"])[boundary == "device"]
                self.assertLessEqual(abs(x["value"] - truth), allowed, (boundary, x["window"], truth, x))
                self.assertGreater(half, 0)
                self.assertLess(half, 0.02 * truth + 2 * allowed, "an interval that says nothing holds everything")
                seen += 1
        late = sum(e.late for w in self.run_raw["windows"] for e in self.edges(w["name"]))
        if not late:  # where no reading is near an edge there is no value
            self.assertGreaterEqual(seen, 6)  # idle and two trials at two boundaries

    def test_energy_of_the_boards_that_do_not_serve(self):
        for x in self.results("energy.other_gpus"):
            truth = sum(self.boards[x["window"]][1:])
            first, boards = self.allowed(x["window"])
            self.assertLessEqual(abs(x["value"] - truth), boards - first)

    def test_requests_and_their_tokens(self):
        pairs = list(self.pairs())
        self.assertGreater(len(pairs), 10)
        for r, t in pairs:
            self.assertEqual((r["prompt_tokens"], r["output_tokens"], r["finish"]),
                             (t["prompt_tokens"], t["told_tokens"], t["finish"]))

    def test_stamps(self):
        """An answer is seen after it was given, a request arrives after it was sent: both on one clock."""
        for r, t in self.pairs():
            self.assertLessEqual(r["sent_ns"], t["arrival_ns"])
            self.assertGreaterEqual(r["first_token_ns"], t["first_token_ns"])
            self.assertGreaterEqual(r["last_token_ns"], t["last_token_ns"])
            self.assertGreaterEqual(r["first_token_ns"] - r["sent_ns"], t["first_token_ns"] - t["arrival_ns"])

    def tokens_of_steps(self, lo, hi):
        """Output tokens said in (lo, hi]: those of decoding, and a first one of each request."""
        n = sum(int(s["decode_tokens"]) for s in self.steps if lo < int(s["t1_ns"]) <= hi)
        return n + sum(lo < r["first_token_ns"] <= hi for r in self.engine["request"])

    def test_tokens_of_every_window(self):
        self.assertEqual(self.tokens_of_steps(0, 1 << 62), self.engine["tokens"]["generated"])
        # the longest that an answer was on its way, or waited for a program that could not run
        edge = max([EDGE_NS] + [r[at] - t[at] for r, t in self.pairs() for at in ("first_token_ns", "last_token_ns")])
        for w in self.windows("measure"):
            x = [x for x in self.results("j_per.output_token", "gpu") if x["window"] == w["name"]]
            if not x:
                self.assertGreater(self.edges(w["name"])[0].late, 0)
                continue
            least = self.tokens_of_steps(w["t0_ns"] + edge, w["t1_ns"] - edge)
            most = self.tokens_of_steps(w["t0_ns"] - edge, w["t1_ns"] + edge)
            self.assertLessEqual(least, x[0]["denominator"]["value"])
            self.assertLessEqual(x[0]["denominator"]["value"], most)
            truth, allowed = self.boards[w["name"]][0], self.allowed(w["name"])[0]
            self.assertLessEqual((truth - allowed) / most, x[0]["value"])
            if least:
                self.assertLessEqual(x[0]["value"], (truth + allowed) / least)

    def test_counts_of_the_whole(self):
        ok = [r for r in self.run_raw["requests"] if r["end"] == "ok"]
        first = min(r["sent_ns"] for r in ok)
        theirs = [r for r in self.engine["request"] if r["arrival_ns"] >= first]
        self.assertEqual(len(ok), len(theirs))
        self.assertEqual(sum(r["output_tokens"] for r in ok), sum(r["told_tokens"] for r in theirs))
        self.assertEqual(sum(r["prompt_tokens"] for r in ok), sum(r["prompt_tokens"] for r in theirs))


tap.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What goes wrong in life, on simulated parts: meters that die, restart or freeze, engines that refuse, cut and stall.
The rule is the same everywhere: the run file is whole, the status says it, and no number stands without its reason."""
import json
import os
import shutil
import subprocess
import tempfile
import time
import unittest

import edges
import patience
import tap

JOULEMARK = os.environ["JOULEMARK"]


class Base(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="faults.")
        self.addCleanup(shutil.rmtree, self.dir)
        self.file = os.path.join(self.dir, "x.jmr")

    def shown(self, *args):
        r = subprocess.run([JOULEMARK, "show", self.file, "--json", *args], capture_output=True, text=True, timeout=60)
        self.assertIn(r.returncode, (0, 3), r.stderr)
        doc = json.loads(r.stdout)
        self.assertEqual(r.returncode == 3, doc["validity"]["status"] == "invalid")
        return doc

    @staticmethod
    def findings(doc):
        return {f["id"] for f in doc["validity"]["findings"]}

    @staticmethod
    def results(doc, metric, boundary):
        return [x for x in doc["results"] if x["metric"] == metric and x.get("boundary") == boundary]


class Meters(Base):
    """The fault comes 6 s after the GPUs; by then the window is open."""

    def measured(self, *faults, gpus=2, seconds=8, more=()):
        command = [JOULEMARK, "sim", "gpu", "--gpus", str(gpus), "--waveform", "const:400W", *more]
        for slower in (1, 4):  # a machine that took longer to open the window is given more time
            at = 6 * slower
            began = time.monotonic_ns()
            r = subprocess.run([*command, *(w for f in faults for w in ("--fault", f.replace("at=6s", f"at={at}s"))), "--", JOULEMARK, "run",
                                "--strict", "--no-summary", "--force", "-q", "-m", "nvml", "-o", self.file, "--", "sleep", str(seconds + at - 6)],
                               capture_output=True, text=True, timeout=180, stdin=subprocess.DEVNULL)
            if not faults or edges.export(JOULEMARK, self.file)["windows"][0]["t0_ns"] < began + at * 10**9:
                break
        return r, self.shown("--profile", "screening")

    def test_well(self):
        r, doc = self.measured()
        self.assertEqual(r.returncode, 0, r.stderr + str(doc["validity"]))
        power = self.results(doc, "power.mean", "gpu")[0]
        self.assertAlmostEqual(power["value"], 800, delta=max(2, power["interval"]["hi"] - power["interval"]["lo"]))
        self.assertTrue(power["interval"]["lo"] <= 800 <= power["interval"]["hi"], power)

    def test_reset(self):
        r, doc = self.measured("kind=reset,gpu=0,at=6s")
        self.assertEqual(r.returncode, 3, r.stderr)
        self.assertIn("counter.reset", self.findings(doc))

    def test_frozen(self):
        r, doc = self.measured("kind=frozen,gpu=1,at=6s")
        self.assertIn("counter.frozen", self.findings(doc), "the gauge goes on and stands in, with a warning")

    def test_lost(self):
        r, doc = self.measured("kind=lost,gpu=1,at=6s")
        self.assertEqual(r.returncode, 3, r.stderr)
        for x in self.results(doc, "energy", "gpu"):
            self.assertEqual((x["have"], x["of"]), (1, 2))

    def test_jump(self):
        r, doc = self.measured("kind=jump,gpu=0,at=6s,value=1000J")
        self.assertNotEqual(self.findings(doc) & {"energy.conflict", "counter.implausible", "counter.conflict"}, set(),
                            doc["validity"])

    def test_no_energy_counter(self):
        r, doc = self.measured(more=("--profile", "p100"))
        power = self.results(doc, "power.mean", "gpu")[0]
        if power["value"] is None:  # a gauge that is not read for long leaves a hole, and the run says so
            rows = edges.readings(edges.export(JOULEMARK, self.file), "nvml", "power.instant")
            self.assertGreater(max(b["t0_ns"] - a["t1_ns"] for board in rows for a, b in zip(board, board[1:])), 500_000_000)
            return
        self.assertAlmostEqual(power["value"], 600, delta=210)  # the profile's limit is 300 W

    def test_nothing_supported(self):
        r, doc = self.measured(more=("--profile", "laptop"))
        self.assertEqual(r.returncode, 3, r.stderr)
        self.assertFalse([x for x in doc["results"] if x["metric"] == "energy" and x["value"] is not None])

    def test_slow_driver(self):
        r, doc = self.measured("kind=slow,what=power,value=3s,at=6s")
        self.assertIn(r.returncode, (0, 3), r.stderr)


class Engines(Base):
    def benched(self, fault, *args, model=None):
        if os.path.exists(self.file):
            os.remove(self.file)
        with subprocess.Popen([JOULEMARK, "sim", "engine", *(("--fault", fault) if fault else ()), *args],
                              stdout=subprocess.PIPE, text=True) as engine:
            try:
                url = json.loads(engine.stdout.readline())["url"]
                command = [JOULEMARK, "bench", url, "-o", self.file, "-t", "2s", "-w", "0s", "--idle", "0s", "--drain", "60s",
                           "-c", "4", "--osl", "16", "-q", "--stall-timeout", "1s" if fault and "stall" in fault else "60s", "--nvml-lib",
                           "/nonexistent"]
                if model:
                    command += ["--model", model]
                return subprocess.run(command, capture_output=True, text=True, timeout=180, stdin=subprocess.DEVNULL)
            finally:
                engine.terminate()

    def test_failures_are_told_apart(self):
        early = []
        for fault, names in {"status=429": ("rate-limit",), "status=500": ("http-5xx",), "status=401": ("auth",),
                             "cut=3": ("cut",), "rst=3": ("cut",), "stall=3": ("stalled",),
                             "error-event=3": ("error-event",), "abort=3": ("aborted",), "bad-json=3": ("protocol", "cut"),
                             "refuse": ("cut", "refused", "protocol"), "status=404": ("not-found",)}.items():
            with self.subTest(fault):
                r = self.benched(fault)
                if r.returncode == 4 and not os.path.exists(self.file):  # seen before anything was measured
                    self.assertIn("joulemark bench: ", r.stderr)
                    early.append(fault)
                    continue
                self.assertEqual(r.returncode, 3, r.stderr)
                doc = self.shown()
                by = doc["requests"]["by_error"]
                self.assertTrue(set(by) & set(names), (fault, by))
                self.assertEqual(doc["requests"]["ok"], 0)
                self.assertFalse([x for x in doc["results"] if x["metric"].startswith("j_per") and
                                  x["value"] is not None])
                os.remove(self.file)
        print("# seen before anything was measured:", *early)

    def test_failures_among_successes(self):
        for fault, name in {"status=429": "rate-limit", "status=500": "http-5xx", "status=401": "auth", "cut=3": "cut",
                            "rst=3": "cut", "stall=3": "stalled", "abort=3": "aborted", "status=404": "not-found"}.items():
            with self.subTest(fault):
                r = self.benched(fault + ",every=3")
                self.assertEqual(r.returncode, 3, r.stderr)
                requests = self.shown()["requests"]
                self.assertIn(name, requests["by_error"], fault)
                self.assertGreater(requests["ok"], 0)
                os.remove(self.file)

    def test_engine_dies(self):
        with subprocess.Popen([JOULEMARK, "sim", "engine"], stdout=subprocess.PIPE, text=True) as engine:
            url = json.loads(engine.stdout.readline())["url"]
            with subprocess.Popen([JOULEMARK, "bench", url, "-o", self.file, "-t", "4s", "-w", "0s", "--idle", "0s", "-q",
                                   "-c", "4", "--osl", "16", "--nvml-lib", "/nonexistent"], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, text=True) as bench:
                try:
                    patience.answered(bench, url, 12)  # and not the few alone that look at it before a load
                finally:
                    engine.kill()
                _, err = bench.communicate(timeout=180)
                self.assertEqual(bench.returncode, 3, err)
        requests = self.shown()["requests"]
        self.assertGreater(requests["ok"], 0)
        self.assertGreater(requests["failed"], 0)
        self.assertLess(requests["failed"], 20000, "a dead endpoint is not hammered")

    def test_no_usage_means_unknown_tokens(self):
        r = self.benched("no-usage")
        self.assertEqual(r.returncode, 3, r.stderr)
        doc = self.shown()
        self.assertGreater(doc["requests"]["ok"], 0)
        self.assertIsNone(doc["tokens"]["output"], "unknown is not 0")

    def test_every_third_fails(self):
        r = self.benched("status=500,every=3")
        doc = self.shown()
        self.assertGreater(doc["requests"]["ok"], 0)
        self.assertGreater(doc["requests"]["failed"], 0)

    def test_key_is_wanted(self):
        r = self.benched(None, "--api-key", "secret")
        self.assertEqual(r.returncode, 4, r.stderr)
        self.assertIn("401", r.stderr)
        self.assertFalse(os.path.exists(self.file))

    def test_unknown_model(self):
        r = self.benched(None, model="nothing")
        self.assertIn(r.returncode, (3, 4), r.stderr)
        if r.returncode == 3:
            self.assertIn("not-found", self.shown()["requests"]["by_error"])


tap.main()

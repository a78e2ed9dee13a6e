#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""joulemark bench on the simulated engine: what its metrics say against what the client got and what really happened,
in the names and with the habits of several engines."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import tap

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "sim"))
import simengine  # noqa: E402

JOULEMARK = os.environ["JOULEMARK"]
LOAD = ["-w", "500ms", "--idle", "500ms", "-t", "3s", "-c", "6", "--isl", "64", "--osl", "96", "--ignore-eos"]

# name: (options of the engine, options of the load)
CASES = {
    "vllm": ([], []),
    "sglang": (["--metrics", "sglang"], []),
    "tgi": (["--metrics", "tgi"], []),
    "llamacpp": (["--metrics", "llamacpp"], []),
    "slots": (["--metrics", "llamacpp", "--api", "llamacpp"], []),
    "none": (["--metrics", "none"], []),
    "abort": ([], ["--cancel", "60 % after 300ms"]),
    "abort-end": (["--metrics", "llamacpp"], ["--cancel", "60 % after 300ms"]),
    "abort-slots": (["--metrics", "llamacpp", "--api", "llamacpp"], ["--cancel", "100 % after 300ms"]),
    "preempt": (["--kv-tokens", "700", "--no-prefix-cache"], []),
    "others": ([], []),
}


class EngineTruth(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """All cases at once: each has an engine of its own, and they are mostly idle."""
        cls.dir = tempfile.mkdtemp(prefix="engine_truth_test.")
        cls.engines = {n: simengine.Engine(*e) for n, (e, _) in CASES.items()}
        other = subprocess.Popen([JOULEMARK, "bench", cls.engines["others"].url, "-q", "-o", os.path.join(cls.dir, "other.jmr"),
                                  "-w", "0s", "--idle", "0s", "-t", "600s", "-c", "5", "--isl", "64", "--osl", "96",
                                  "--engine-metrics", "off"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        jobs = {n: subprocess.Popen([JOULEMARK, "bench", cls.engines[n].url, "-q", "--json", "-o", cls.file(n), *LOAD, *more],
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)
                for n, (_, more) in CASES.items()}
        cls.out = {n: j.communicate(timeout=300) for n, j in jobs.items()}
        other.terminate()
        other.wait()
        cls.truth = {n: e.stop() for n, e in cls.engines.items()}

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.dir)

    @classmethod
    def file(cls, name):
        return os.path.join(cls.dir, name + ".jmr")

    def doc(self, name):
        out, err = self.out[name]
        self.assertTrue(out, err)
        return json.loads(out)

    def value(self, name, metric):
        for x in self.doc(name)["results"]:
            if x["metric"] == metric and "quantile" not in x:
                return x["value"]
        return None

    def window(self, name):
        doc = self.doc(name)
        return [w for w in doc["engine"]["windows"] if doc["windows"][w["index"]]["role"] == "measure"][0]

    def findings(self, name):
        return {f["id"]: f for f in self.doc(name)["validity"]["findings"]}

    def last_counter(self, name, pattern):
        text = subprocess.run([JOULEMARK, "export", self.file(name), "--format", "json", "-o", self.file(name) + ".json"],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(text.returncode, 0, text.stderr)
        with open(self.file(name) + ".json") as f:
            found = re.findall(pattern, f.read())
        return max(float(x) for x in found)

    def check_ratio(self, name, delta=0.02):
        w = self.window(name)
        self.assertGreater(w["client_tokens"], 100)
        doubt = w["client_tokens_doubt"] + (w["tokens_hi"] - w["tokens_lo"])
        self.assertAlmostEqual(w["tokens"], w["client_tokens"], delta=doubt + delta * w["client_tokens"])
        warned = [i for i, f in self.findings(name).items() if i.startswith("engine.") and f["severity"] != "info"]
        self.assertEqual(warned, [])

    def test_per_step(self):
        for name in ("vllm", "sglang", "slots"):
            with self.subTest(name):
                self.check_ratio(name)
                self.assertTrue(self.window(name)["per_step"])
                # nothing was aborted, so nothing is left over
                self.assertIsNone(self.value(name, "engine.aborted_tokens"))
                # between some and all of the six streams: a busy machine lets them wait for their next prompt
                self.assertGreater(self.value(name, "engine.requests_running"), 1)
                self.assertLess(self.value(name, "engine.requests_running"), 6.1)

    def test_at_the_end_of_a_request(self):
        for name in ("tgi", "llamacpp"):
            with self.subTest(name):
                self.check_ratio(name)
                self.assertFalse(self.window(name)["per_step"])
                self.assertIsNone(self.value(name, "j_per.engine_token"))

    def test_counter_is_the_truth(self):
        told = self.last_counter("vllm", r'vllm:generation_tokens_total\{[^}]*\} ([0-9.e+]+)')
        self.assertEqual(told, self.truth["vllm"]["tokens"]["generated"])

    def test_aborted(self):
        w = self.window("abort")
        self.assertGreater(w["requests_aborted"], 0)
        self.assertGreater(self.value("abort", "engine.aborted_tokens"), 0)
        # tokens by the engine: those of successful requests and of the cancelled ones, which the client saw coming
        self.assertIn("engine.tokens_more", self.findings("abort"))
        self.assertIn("aborted or failed", self.findings("abort")["engine.tokens_more"]["text"])
        self.assertGreater(w["tokens"], 1.05 * w["client_tokens"])

    def test_aborted_where_no_counter_has_them(self):
        # llama.cpp's counter agrees with the client, because neither has the aborted ones
        w = self.window("abort-end")
        self.assertFalse(w["per_step"])
        self.assertAlmostEqual(w["tokens"], w["client_tokens"], delta=w["client_tokens_doubt"] + w["tokens_hi"] - w["tokens_lo"])
        # its slots show what ran, as far as a text a second can see
        w = self.window("abort-slots")
        self.assertGreater(w["tokens_uncounted"], 0)
        self.assertLessEqual(w["tokens_uncounted"], self.truth["abort-slots"]["tokens"]["generated"])
        self.assertGreaterEqual(self.value("abort-slots", "engine.aborted_tokens"), w["tokens_uncounted"])
        self.assertIsNone(self.value("abort-slots", "j_per.engine_token"))
        self.assertIn("engine.uncounted", self.findings("abort-slots"))

    def test_preempted(self):
        self.assertIn("engine.preempted", self.findings("preempt"))
        self.assertGreater(self.value("preempt", "engine.preemptions"), 0)
        self.assertLessEqual(self.value("preempt", "engine.preemptions"), self.truth["preempt"]["preemptions"])
        self.assertGreater(self.value("preempt", "engine.kv_cache_use.max"), 0.8)

    def test_somebody_else(self):
        found = self.findings("others")
        self.assertIn("engine.cotenant", found)
        self.assertIn("engine.tokens_more", found)
        self.assertIn("another client", found["engine.tokens_more"]["text"])
        self.assertIn("engine.idle_busy", found)

    def test_none(self):
        found = self.findings("none")
        self.assertEqual(found["engine.absent"]["severity"], "info")
        self.assertIn("404", found["engine.absent"]["text"])
        self.assertEqual([w for w in self.doc("none")["engine"]["windows"] if w["have"]], [])


if __name__ == "__main__":
    tap.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""joulemark bench on a real llama.cpp server with --metrics: its counters, its slots, and what it does with the tokens of
requests that the client gives up."""
import json
import os
import shutil
import subprocess
import tempfile
import unittest

import tap

JOULEMARK = os.environ["JOULEMARK"]
SOURCE = os.environ.get("JM_SOURCE", ".")
BUILD = os.environ.get("JM_BUILD", "build")


class Llama(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        script = os.path.join(SOURCE, "tests", "peer", "llama_server.py")
        cls.server = subprocess.Popen(["python3", script, os.path.join(BUILD, "peer")], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        cls.url = cls.server.stdout.readline().strip()
        if not cls.url.startswith("http"):
            raise unittest.SkipTest(cls.url or "the server did not start")
        cls.dir = tempfile.mkdtemp(prefix="llama_engine_test.")

    @classmethod
    def tearDownClass(cls):
        if hasattr(cls, "dir"):
            shutil.rmtree(cls.dir)
        cls.server.stdin.close()
        cls.server.wait(20)
        cls.server.stdout.close()

    def bench(self, name, *more):
        self.file = os.path.join(self.dir, name + ".jmr")
        r = subprocess.run([JOULEMARK, "bench", self.url, "-q", "--json", "-o", self.file, "-w", "1s", "--idle", "1s", "-t", "4s",
                            "-c", "2", "--isl", "40", "--osl", "400", "--ignore-eos", *more],
                           capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL)
        self.assertIn(r.returncode, (0, 3), r.stderr)
        doc = json.loads(r.stdout)
        window = [w for w in doc["engine"]["windows"] if doc["windows"][w["index"]]["role"] == "measure"]
        self.assertEqual(len(window), 1, r.stderr)
        return doc, window[0]

    @staticmethod
    def findings(doc):
        return {f["id"]: f for f in doc["validity"]["findings"]}

    def test_counts(self):
        doc, w = self.bench("counts")
        source = [s for s in doc["engine"]["sources"] if not s["host"]][0]
        self.assertEqual(source["dialect"], "llamacpp")
        self.assertGreater(w["client_tokens"], 100)
        doubt = w["client_tokens_doubt"] + w["tokens_hi"] - w["tokens_lo"]
        self.assertAlmostEqual(w["tokens"], w["client_tokens"], delta=doubt + 0.03 * w["client_tokens"])
        self.assertEqual(w["resets"], 0)
        self.assertNotIn("engine.reset", self.findings(doc))
        values = {x["metric"]: x["value"] for x in doc["results"] if "quantile" not in x}
        self.assertGreater(values["engine.steps"], 0)
        self.assertTrue(0 < values["engine.requests_running"] < 2.7)  # a busy machine lets them wait for their next prompt

    def test_no_prompt_is_kept(self):
        self.bench("prompts")
        with open(self.file, "rb") as f:
            self.assertNotIn(b"next_token", f.read())
        out = os.path.join(self.dir, "prompts.json")
        r = subprocess.run([JOULEMARK, "export", self.file, "--format", "json", "-o", out], capture_output=True, text=True, timeout=60)
        self.assertEqual(r.returncode, 0, r.stderr)
        with open(out) as f:
            text = f.read()
        self.assertIn("llamacpp:tokens_predicted_total", text)
        self.assertNotIn("next_token", text)
        self.assertNotIn('"prompt":', text)

    def test_aborted(self):
        """Given up after 1 s of much more. Old builds never count these tokens, newer ones when they let go of the slot;
        either way the engine made about what the client saw coming, and none of it reached a request that succeeded."""
        doc, w = self.bench("aborted", "--osl", "4000", "--cancel", "100 % after 1s")
        self.assertEqual(doc["requests"]["ok"], 0)
        self.assertEqual(w["client_tokens"], 0)
        seen = w["client_tokens_unsuccessful"]  # of requests that overlap the window: more than were made inside
        self.assertGreater(seen, 0)
        self.assertGreater(w["tokens"] + w["tokens_uncounted"], 0.3 * seen)
        self.assertLess(w["tokens"], 1.2 * seen + 100)
        values = {x["metric"]: x["value"] for x in doc["results"] if "quantile" not in x}
        self.assertGreater(values["engine.aborted_tokens"], 0)
        self.assertIsNone(values.get("j_per.engine_token"))


if __name__ == "__main__":
    tap.main()

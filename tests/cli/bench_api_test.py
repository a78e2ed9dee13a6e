#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench with the engines' own APIs, end to end: the engine is recognised, its dialect is chosen, and the tokens in the run are
those that the simulated engine really told."""
import json
import os
import shutil
import subprocess
import tempfile
import unittest

import tap

JOULEMARK = os.environ["JOULEMARK"]
SIM = os.environ.get("JM_SIM") or os.path.join(os.path.dirname(JOULEMARK), "sim", "joulemark-sim")


class Api(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="bench_api.")
        self.addCleanup(shutil.rmtree, self.dir)

    def bench(self, sim, *args):
        """The exported run and the engine's truth."""
        truth, run, out = (os.path.join(self.dir, f"{sim}.{x}") for x in ("truth", "jmr", "json"))
        engine = subprocess.Popen([SIM, "engine", "--api", sim, "--speed", "20", "--eos-median", "1000000", "--truth", truth],
                                  stdout=subprocess.PIPE, text=True)
        try:
            url = json.loads(engine.stdout.readline())["url"]
            r = subprocess.run([JOULEMARK, "bench", url, "-o", run, "-c", "4", "--isl", "64", "--osl", "32", "-w", "0s", "--idle", "0s",
                                "-t", "1s", "-q", *args], capture_output=True, text=True, timeout=180, stdin=subprocess.DEVNULL)
            self.assertEqual(r.returncode, 3, r.stderr)  # no meter: measured all the same
        finally:
            engine.terminate()
            engine.communicate()
        subprocess.run([JOULEMARK, "export", "--json", run, "-o", out], check=True, stdout=subprocess.DEVNULL)
        with open(out, encoding="utf-8") as f, open(truth, encoding="utf-8") as t:
            return json.load(f), json.load(t)

    def check(self, sim, kind, dialect, *args):
        run, truth = self.bench(sim, *args)
        env = {e["key"]: e["value"] for e in run["environment"]}
        self.assertEqual(env["endpoint.kind"], kind)
        self.assertEqual(env["load.api"], dialect)
        requests = run["requests"]
        self.assertGreater(len(requests), 4)
        for q in requests:
            self.assertEqual((q["end"], q["output_tokens"], q["prompt_tokens"]), ("ok", 32, 64), q)
        # what else was told went to the requests of one token that found out the lengths
        told = truth["tokens"]["told"] - sum(q["output_tokens"] for q in requests)
        self.assertIn(told, range(1, 12))

    def test_ollama(self):
        self.check("ollama", "ollama", "ollama.chat")

    def test_tgi(self):
        self.check("tgi", "tgi", "tgi.generate_stream")

    def test_triton(self):
        self.check("triton", "triton", "triton.generate_stream", "--ignore-eos")

    def test_sglang_by_name_with_ids(self):
        self.check("sglang", "sglang", "sglang.generate", "--api", "sglang", "--prompt-ids", "--ignore-eos")

    def test_a_wrong_name_lists_the_right_ones(self):
        r = subprocess.run([JOULEMARK, "bench", "http://127.0.0.1:1", "--api", "openai"], capture_output=True, text=True, timeout=60)
        self.assertEqual(r.returncode, 2)
        self.assertIn("llamacpp.completion", r.stderr)
        help = subprocess.run([JOULEMARK, "bench", "--help"], capture_output=True, text=True, timeout=60).stdout
        for name in ("openai.responses", "ollama.chat", "triton.generate_stream"):
            self.assertIn(name, help)


if __name__ == "__main__":
    tap.main()

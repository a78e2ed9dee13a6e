#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""AIPerf, inference-perf and guidellm themselves: run against the simulated engine (bench/loadgen --make-fixtures), their files
imported, and what they printed held against what is computed again from their requests, by the same definition."""
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import unittest

import tap

JOULEMARK = os.environ["JOULEMARK"]
SOURCE = os.environ.get("JM_SOURCE", ".")
BUILD = os.environ["JM_BUILD"]
WANTED = ["aiperf", "aiperf-faults", "inference-perf-faults", "guidellm"]


class Tools(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.mkdtemp(prefix="peer_tools.")
        p = subprocess.run([sys.executable, os.path.join(SOURCE, "bench", "loadgen"), "--build", BUILD, "--make-fixtures", cls.dir,
                            "--fixtures", ",".join(WANTED)], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=1500)
        try:
            cls.index = json.loads(p.stdout)
        except ValueError:
            cls.index = {"made": [], "left_out": dict.fromkeys(WANTED, "bench/loadgen failed: " + p.stderr[-300:])}

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.dir)

    def take(self, name):
        """The import of one tool's result: its path, the raw export, and what show computes."""
        made = {m["name"]: m for m in self.index["made"]}
        if name not in made:
            why = self.index["left_out"].get(name, "not made")
            if "wrote no result" in why or "loadgen failed" in why:
                self.fail(f"{name}: {why}")
            self.skipTest(f"{name}: {why}")
        path = made[name]["path"]
        run, text = os.path.join(self.dir, name + ".jmr"), os.path.join(self.dir, name + ".json")
        for args in (["import", path, "-o", run], ["export", run, "--format", "json", "-o", text]):
            p = subprocess.run([JOULEMARK, *args], capture_output=True, text=True, timeout=120)
            self.assertEqual(p.returncode, 0, p.stderr)
        with open(text, encoding="utf-8") as f:
            raw = json.load(f)
        p = subprocess.run([JOULEMARK, "show", run, "--json"], capture_output=True, text=True, timeout=120)
        shown = json.loads(p.stdout)
        return path, raw, shown

    def same(self, a, b, rel, what):
        self.assertIsNotNone(a, what)
        self.assertLessEqual(abs(a - b), rel * abs(b) + 1e-12, f"{what}: {a} here, {b} in the file")

    def same_rate(self, count, seconds, rate, what):
        """A tool's rate is over a time of its own, which goes on around the requests for as long as the tool needs to begin and
        to end: that is a part of a second, more on a busy machine."""
        self.assertLessEqual(abs(count / rate - seconds), 0.02 * seconds + 1, f"{what}: {count} in {seconds} s here, {rate}/s in the file")

    @staticmethod
    def result(shown, metric, quantile=None):
        return [r["value"] for r in shown["results"] if r["metric"] == metric and r.get("quantile") == quantile][0]

    def aiperf(self, name, failed):
        path, raw, shown = self.take(name)
        with open(os.path.join(path, "profile_export_aiperf.json"), encoding="utf-8") as f:
            said = json.load(f)
        measured = [q for q in raw["requests"] if q["slice"] != "warmup"]
        ok = [q for q in measured if q["end"] == "ok"]
        self.assertEqual(len(ok), said["request_count"]["avg"])
        self.assertEqual(len(measured) - len(ok), said.get("error_request_count", {"avg": 0})["avg"])
        self.assertEqual(failed, len(measured) - len(ok) > 0)
        self.assertEqual(shown["requests"]["ok"], len(ok))
        # AIPerf counts from the start of a request, we from its credit: the rest is the queue, which it prints too
        queue = statistics.mean(q["sent_ns"] - q["scheduled_ns"] for q in measured) / 1e6  # failures are in this one
        self.same(queue, said["credit_to_start_latency"]["avg"], 1e-5, "queue")
        queue = self.result(shown, "queue")
        self.same(self.result(shown, "ttft") - queue, said["time_to_first_token"]["avg"] / 1e3, 1e-4, "ttft")
        self.same(self.result(shown, "e2e") - queue, said["request_latency"]["avg"] / 1e3, 1e-5, "e2e")
        ttft = sorted((q["first_token_ns"] - q["sent_ns"]) / 1e6 for q in ok)
        self.same(statistics.median(ttft), said["time_to_first_token"]["p50"], 1e-6, "median ttft")
        self.same(ttft[-1], said["time_to_first_token"]["max"], 1e-6, "largest ttft")
        self.same(self.result(shown, "itl.chunk"), said["inter_chunk_latency"]["avg"] / 1e3, 1e-3, "gaps of chunks")
        span = (max(q["closed_ns"] for q in ok) - min(q["sent_ns"] for q in ok)) / 1e9
        self.same_rate(len(ok), span, said["request_throughput"]["avg"], "requests/s")
        return raw, shown, said, ok, span

    def test_aiperf_with_the_servers_counts(self):
        raw, shown, said, ok, span = self.aiperf("aiperf", False)
        self.same(self.result(shown, "itl.token_mean"), said["inter_token_latency"]["avg"] / 1e3, 1e-5, "itl")
        self.same(self.result(shown, "itl.token_mean", 0.99), said["inter_token_latency"]["p99"] / 1e3, 1e-5, "p99 of itl")
        self.assertEqual(sum(q["output_tokens"] for q in ok), said["total_osl"]["avg"])
        self.same_rate(sum(q["output_tokens"] for q in ok), span, said["output_token_throughput"]["avg"], "tokens/s")
        self.assertEqual([w["role"] for w in raw["windows"]], ["warm-up", "measure"])
        self.assertEqual(sorted({c["name"] for c in raw["channels"]}), ["energy", "power.average"])
        joules = [r for r in shown["results"] if r["metric"] == "energy" and r.get("boundary") == "gpu"][0]
        # theirs goes on for 666 ms and has whole scrapes; both lie between the least and the most that two boards draw
        self.assertGreater(said["nvidia_total_gpu_energy"]["avg"], 0)
        if joules["value"] is not None:
            seconds = [w for w in shown["windows"] if w["role"] == "measure"][0]["seconds"]
            self.assertGreater(joules["value"] / seconds, 2 * 50)
            self.assertLess(joules["value"] / seconds, 2 * 800)

    def test_aiperf_with_failures_and_its_own_tokenizer(self):
        raw, shown, said, ok, _ = self.aiperf("aiperf-faults", True)
        env = raw["environment"]
        env = env if isinstance(env, dict) else {e["key"]: e["value"] for e in env}
        self.assertEqual({q["http_status"] for q in raw["requests"] if q["end"] != "ok"}, {503})
        # 40 tokens an answer by the server; what AIPerf says is its own tokenizer's count
        self.assertEqual({q["output_tokens"] for q in ok}, {40})
        self.assertEqual(int(env["import.tokens.client_total"]), said["total_osl"]["avg"])
        self.assertEqual(int(env["import.tokens.server_total"]), 40 * len(ok))

    def test_inference_perf(self):
        path, raw, shown = self.take("inference-perf-faults")
        with open(os.path.join(path, "summary_lifecycle_metrics.json"), encoding="utf-8") as f:
            said = json.load(f)
        good, latency = said["successes"], said["successes"]["latency"]
        ok = [q for q in raw["requests"] if q["end"] == "ok"]
        self.assertEqual(len(ok), good["count"])
        self.assertEqual(len(raw["requests"]) - len(ok), said["failures"]["count"])
        for stat, quantile in (("mean", None), ("median", 0.5), ("p99", 0.99)):
            self.same(self.result(shown, "ttft", quantile), latency["time_to_first_token"][stat], 1e-5, f"{stat} of ttft")
        e2e = [(q["closed_ns"] - q["sent_ns"]) / 1e9 for q in ok]
        self.same(statistics.mean(e2e), latency["request_latency"]["mean"], 1e-6, "request latency")
        self.assertEqual(sum(q["output_tokens"] for q in ok), good["output_tokens"]["total"])
        self.same(shown["requests"]["ok"] / said["benchmark_time_seconds"], good["throughput"]["requests_per_sec"], 1e-6, "requests/s")
        self.same_rate(len(ok), len(ok) / self.result(shown, "requests_per_s"), good["throughput"]["requests_per_sec"], "requests/s")

    def test_guidellm(self):
        path, raw, shown = self.take("guidellm")
        with open(path, encoding="utf-8") as f:
            said = json.load(f)["benchmarks"][0]["metrics"]
        ok = [q for q in raw["requests"] if q["end"] == "ok"]
        self.assertEqual(len(ok), said["time_to_first_token_ms"]["successful"]["count"])
        self.same(1e3 * self.result(shown, "ttft"), said["time_to_first_token_ms"]["successful"]["mean"], 1e-4, "ttft")
        self.assertEqual(sum(q["output_tokens"] for q in ok), said["output_token_count"]["successful"]["total_sum"])
        # its TPOT weighs each request with its tokens; up to 0.3 it is over all tokens but from the first one
        tpot = sum(q["last_token_ns"] - q["first_token_ns"] for q in ok) / sum(q["output_tokens"] for q in ok) / 1e6
        self.same(tpot, said["time_per_output_token_ms"]["successful"]["mean"], 1e-3, "tpot")
        itl = sum(q["last_token_ns"] - q["first_token_ns"] for q in ok) / sum(q["output_tokens"] - 1 for q in ok) / 1e6
        self.same(itl, said["inter_token_latency_ms"]["successful"]["mean"], 1e-3, "itl")


if __name__ == "__main__":
    tap.main()

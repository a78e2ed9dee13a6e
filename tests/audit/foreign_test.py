#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""joulemark audit on other tools' files: each check speaks about a file that it should speak about, and is silent on the
same file without the fault. The files are made here; what is right in them is worked out by hand."""
import copy
import json
import os
import shutil
import subprocess
import tempfile
import unittest

import tap

JOULEMARK = os.environ["JOULEMARK"]
N = 120  # requests: enough for a p99


def good():
    """vLLM, detailed, 120 requests one after the other in two lanes: 10 tokens each, a chunk a token, TTFT 100 ms, 0.1 s a
    token: each takes 1 s, so 60 s in all; 1200 tokens in 60 s are 20 tokens/s."""
    return {
        "date": "20250827-142530", "endpoint_type": "openai", "backend": "vllm", "label": None, "model_id": "m",
        "tokenizer_id": "m", "num_prompts": N, "request_rate": "inf", "burstiness": 1.0, "max_concurrency": 2,
        "duration": 60.0, "completed": N, "failed": 0, "total_input_tokens": 20 * N, "total_output_tokens": 10 * N,
        "request_throughput": 2.0, "request_goodput": None, "output_throughput": 20.0, "total_token_throughput": 60.0,
        "input_lens": [20] * N, "output_lens": [10] * N, "ttfts": [0.1] * N, "itls": [[0.1] * 9 for _ in range(N)],
        "start_times": [500.0 + i // 2 for i in range(N)], "generated_texts": ["x"] * N, "errors": [""] * N,
        "mean_ttft_ms": 100.0, "median_ttft_ms": 100.0, "std_ttft_ms": 0.0, "p99_ttft_ms": 100.0,
        "mean_tpot_ms": 100.0, "median_tpot_ms": 100.0, "p99_tpot_ms": 100.0,
        "mean_itl_ms": 100.0, "median_itl_ms": 100.0, "p99_itl_ms": 100.0,
        "gpu_energy_j": 6000.0, "gpu_energy_duration_s": 60.0, "gpu_avg_power_w": 100.0,
        "gpu_energy_per_output_token_j": 5.0, "energy_gpu_ids": [0],
    }


def sglang():
    """The same as SGLang writes it: no start times, no failures, lengths that differ."""
    v = good()
    out = [10 if i % 2 else 9 for i in range(N)]
    return {
        "tag": None, "backend": "sglang", "dataset_name": "random", "request_rate": "inf", "max_concurrency": None,
        "sharegpt_output_len": None, "random_input_len": 20, "random_output_len": 10, "random_range_ratio": 0.5,
        "duration": 60.0, "completed": N, "total_input_tokens": 20 * N, "total_output_tokens": sum(out),
        "total_output_tokens_retokenized": sum(out), "request_throughput": 2.0, "input_throughput": 40.0,
        "output_throughput": sum(out) / 60, "total_throughput": (sum(out) + 20 * N) / 60, "mean_ttft_ms": 100.0,
        "concurrency": 2.0, "accept_length": None, "input_lens": v["input_lens"], "output_lens": out, "ttfts": v["ttfts"],
        "itls": [[0.1] * (n - 1) for n in out], "generated_texts": ["x"] * N, "errors": [""] * N,
    }


class Audit(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.mkdtemp(prefix="foreign_test.")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.dir)

    def audit(self, doc, name="f.json"):
        path = os.path.join(self.dir, name)
        with open(path, "w", encoding="utf-8") as f:
            if isinstance(doc, str):
                f.write(doc)
            else:
                json.dump(doc, f)
        p = subprocess.run([JOULEMARK, "audit", path, "--json"], capture_output=True, text=True, timeout=60)
        self.assertEqual(p.stderr, "")
        d = json.loads(p.stdout)
        failed = any(f["severity"] != "info" for f in d["findings"])
        self.assertEqual(p.returncode, 1 if d["status"] == "failed" else 0)
        self.assertEqual(d["status"], "failed" if failed else "passed", d["findings"])
        return {f["id"]: f for f in d["findings"]}

    def pair(self, finding, severity, mutate, base=good):
        """mutate puts the fault in; without it the check is silent."""
        doc = base()
        mutate(doc)
        before, after = self.audit(base()), self.audit(doc)
        self.assertNotIn(finding, before)
        self.assertIn(finding, after)
        self.assertEqual(after[finding]["severity"], severity)
        return after[finding]

    def test_a_good_file_passes(self):
        self.assertEqual(set(self.audit(good())), {"meters.none"})  # which is a note
        self.assertEqual(set(self.audit(sglang())), {"meters.none", "requests.no_field"})

    def test_chunks_are_not_tokens(self):
        def half(d):  # five chunks of two tokens, 0.2 s apart: the last at 0.1 + 4 x 0.2 = 0.9 s
            d["itls"] = [[0.2] * 4 for _ in range(N)]
        f = self.pair("tokens.chunks", "warning", half)
        self.assertIn("(2 tokens a chunk)", f["text"])

    def test_chunks_without_a_token(self):
        def role(d):
            d["itls"] = [[0.0] + [0.1] * 9 for _ in range(N)]
            d["endpoint_type"] = "openai-chat"
        self.pair("tokens.no_token", "warning", role)
        self.pair("ttft.role", "warning", role)
        self.pair("ttft.role", "info", lambda d: d.update(endpoint_type="openai-chat"))

    def test_requested_lengths(self):
        def retokenized(d):
            d["total_output_tokens_retokenized"] = 600
        f = self.pair("tokens.requested", "error", retokenized, sglang)
        self.assertIn("47.4 %", f["text"])  # 1 - 600 / 1140

        def all_alike(d):
            d["output_lens"] = [10] * N
            d["total_output_tokens"] = 10 * N
            d["output_throughput"], d["total_throughput"] = 20.0, 60.0
            del d["total_output_tokens_retokenized"]
            d["itls"] = [[0.1] * 9 for _ in range(N)]
        self.pair("tokens.requested", "warning", all_alike, sglang)

        def counted(d):  # the same lengths, with a count beside
            all_alike(d)
            d["total_output_tokens_retokenized"] = 10 * N
        doc = sglang()
        counted(doc)
        self.assertNotIn("tokens.requested", self.audit(doc))

    def test_more_tokens_than_asked(self):
        def over(d):
            d["random_range_ratio"] = 1.0
            d["output_lens"][3] = 11
            d["itls"][3] = [0.1] * 10
        self.pair("tokens.over", "warning", over, sglang)

    def test_cached_prompts(self):
        def cached(d):
            d["cached_tokens"] = [10] * N
        f = self.pair("cache.hits", "warning", cached, sglang)
        self.assertIn("50.0 %", f["text"])

    def test_failures_left_out(self):
        def failed(d):  # 12 of 132 did not succeed, and nothing says so
            del d["failed"]
            d["num_prompts"] = 132
        f = self.pair("requests.left_out", "warning", failed)
        self.assertIn("12 of 132", f["text"])

    def test_failures_in_the_rate(self):
        def counted(d):  # 60 more failed; 180 / 60 s = 3/s
            d.update(failed=60, num_prompts=180, request_throughput=3.0)
        f = self.pair("requests.in_rate", "error", counted)
        self.assertIn("2 requests/s", f["text"])

    def test_energy_of_another_window(self):
        self.pair("energy.window", "error", lambda d: d.update(gpu_energy_duration_s=75.0, gpu_avg_power_w=80.0))
        f = self.pair("energy.window", "warning", lambda d: d.update(gpu_energy_duration_s=62.4, gpu_avg_power_w=6000 / 62.4))
        self.assertIn("4.0 % longer", f["text"])

    def test_energy_that_no_gpu_draws(self):
        def lifetime(d):  # a counter since the driver was loaded: 100 MJ
            d.update(gpu_energy_j=1e8, gpu_avg_power_w=1e8 / 60, gpu_energy_per_output_token_j=1e8 / 1200)
        self.pair("energy.power", "error", lifetime)

    def test_blank_of_dcgm(self):
        self.pair("energy.blank", "error", lambda d: d.update(gpu_energy_j=140737488355328.0))
        self.pair("energy.blank", "error", lambda d: d.update(gpu_avg_power_w=2147483632))

    def test_clamped_energy(self):
        self.pair("energy.clamped", "error", lambda d: d.update(gpu_energy_j=0.0, gpu_avg_power_w=0.0,
                                                                gpu_energy_per_output_token_j=0.0))

    def test_sums(self):
        f = self.pair("sums", "error", lambda d: d.update(output_throughput=25.0))
        self.assertIn("20.0 %", f["text"])  # 1500 tokens against 1200
        self.pair("sums", "error", lambda d: d.update(total_token_throughput=70.0))
        self.pair("sums", "error", lambda d: d.update(gpu_energy_per_output_token_j=4.0))
        self.pair("sums", "error", lambda d: d.update(num_prompts=150, failed=10))

    def test_order_of_statistics(self):
        self.pair("stat.range", "error", lambda d: d.update(p99_ttft_ms=90.0))
        self.pair("stat.range", "error", lambda d: d.update(min_ttft_ms=120.0))

    def test_percentile_of_few(self):
        def few(d):
            for k in ("input_lens", "output_lens", "ttfts", "itls", "start_times", "generated_texts", "errors"):
                d[k] = d[k][:99]
        f = self.pair("stat.percentile", "warning", few)
        self.assertIn("100 requests", f["text"])

    def test_numbers_that_do_not_follow(self):
        f = self.pair("claim.differs", "warning", lambda d: d.update(mean_ttft_ms=50.0))
        self.assertIn("1 of ", f["text"])
        self.assertIn("mean_ttft_ms, 0.05 in the file, 0.1 computed again", f["evidence"])

    def test_duration_too_short(self):
        def short(d):
            d.update(duration=50.0, request_throughput=2.4, output_throughput=24.0, total_token_throughput=72.0)
        f = self.pair("time.span", "error", short)
        self.assertIn("20.0 %", f["text"])

    def test_ramp(self):
        def one_lane(d):  # the second half one at a time
            d["start_times"] = [500.0 + (i // 2 if i < 60 else 30 + i - 60) for i in range(N)]
            d.update(duration=90.0, request_throughput=N / 90, output_throughput=10 * N / 90, total_token_throughput=30 * N / 90)
            d["gpu_energy_duration_s"], d["gpu_avg_power_w"] = 90.0, 6000 / 90
        f = self.pair("time.ramp", "warning", one_lane)
        self.assertIn("67 %", f["text"])  # 60 of 90 s

    def test_client_queue(self):
        self.pair("queue.client", "warning", lambda d: d.update(request_rate=4.0))

        def told(d):
            d["request_rate"] = 4.0
            d["mean_e2el_including_client_queue_ms"] = 1500.0
        doc = good()
        told(doc)
        self.assertNotIn("queue.client", self.audit(doc))

    def test_times_backwards(self):
        def back(d):
            d["itls"][7][2] = -0.1
        self.pair("clock.backwards", "error", back)

    def test_totals_only(self):
        def plain(d):
            for k in ("input_lens", "output_lens", "ttfts", "itls", "start_times", "generated_texts", "errors"):
                del d[k]
        f = self.pair("requests.none", "info", plain)
        self.assertIn("--save-detailed", f["evidence"])

    def test_mean_of_rates(self):
        """Measured: 3 x 32 tokens in 4.54, 0.24 and 5.89 s: 96 / 10.663 s = 9.00 tokens/s, and avg_ts says 49.3."""
        def bench():
            return [{"build_commit": "x", "n_prompt": 0, "n_gen": 32, "avg_ts": 9.0, "test_time": "2025-02-20T10:00:00Z",
                     "samples_ns": [3554440982] * 3}]

        def real(d):
            d[0].update(avg_ts=49.304813, samples_ns=[4540556924, 236283509, 5886494533])
        f = self.pair("rate.mean_of_rates", "error", real, bench)
        self.assertIn("9.00281", f["evidence"])

    def fmperf(self):
        out = []
        for i in range(N):
            for k in range(10):
                out.append({"timestamp": 1_700_000_000_000_000_000 + i * 500_000_000 + (k + 1) * 40_000_000,
                            "duration_ms": 40.0, "n_tokens": 1, "worker_idx": 0, "request_idx": i, "sample_idx": 0,
                            "response_idx": k, "ok": True, "error": None, "exp_num_users": 1})
        return {"results": out, "energy": {}}

    def test_zeros_inside_a_chunk(self):
        def lumps(d):  # pairs share their time
            for i, r in enumerate(d["results"]):
                if i % 2:
                    r["timestamp"] = d["results"][i - 1]["timestamp"]
        self.pair("itl.zeros", "warning", lumps, self.fmperf)
        self.assertEqual(self.audit(self.fmperf())["clock.wall"]["severity"], "info")

    def aiperf(self):
        """Totals: 100 requests, 1000 tokens in 100 s, 500 J."""
        def m(avg, unit, **more):
            return {"unit": unit, "avg": avg, **more}
        return {"schema_version": "1.4", "aiperf_version": "0.3", "input_config": {}, "start_time": "2025-08-27T14:00:00",
                "end_time": "2025-08-27T14:01:40",
                "request_throughput": m(1.0, "requests/sec"), "output_token_throughput": m(10.0, "tokens/sec"),
                "total_gpu_energy": m(500.0, "J"), "benchmark_duration": m(100.0, "sec"), "request_count": m(100, "requests")}

    def test_energy_of_aiperf(self):
        found = self.audit(self.aiperf())
        self.assertEqual(found["energy.grace"]["severity"], "info")  # 0.666 of 100 s

        def short(d):
            d["end_time"] = "2025-08-27T14:00:20"
            d["benchmark_duration"]["avg"] = 20.0
        doc = self.aiperf()
        short(doc)
        self.assertEqual(self.audit(doc)["energy.grace"]["severity"], "warning")  # 0.666 of 20 s

    def test_energy_divided_among_gpus_and_successes(self):
        def gpus(d):  # two boards of 500 J each; 500 J are their mean
            d["telemetry_data"] = {"endpoints": {"h": {"gpus": {
                str(i): {"gpu_index": i, "metrics": {"nvidia_energy_consumption": {"unit": "J", "avg": 500.0}}} for i in (0, 1)}}}}
        f = self.pair("energy.gpu_mean", "error", gpus, self.aiperf)
        self.assertIn("multiply by 2", f["text"])

        def both(d):
            gpus(d)
            d["total_gpu_energy"]["avg"] = 1000.0
        doc = self.aiperf()
        both(doc)
        self.assertNotIn("energy.gpu_mean", self.audit(doc))

        def failures(d):  # 100 of 125: 5 J a success, 4 J a request
            d["energy_per_request"] = {"unit": "joules/request", "avg": 5.0}
            d["error_request_count"] = {"unit": "requests", "avg": 25}
        f = self.pair("energy.per_success", "warning", failures, self.aiperf)
        self.assertIn("a request as such took 4 J, not 5", f["text"])

    def test_lifetime_counter_of_genai_perf(self):
        def stats():
            m = {"unit": "ms", "avg": 10.0, "min": 9.0, "max": 11.0, "p99": 11.0}
            return {"request_throughput": {"unit": "requests/sec", "avg": 1.0}, "request_latency": dict(m),
                    "time_to_first_token": dict(m), "inter_token_latency": dict(m), "output_sequence_length": dict(m, unit="tokens"),
                    "input_config": {"model": ["m"]}}

        def counter(d):
            d["telemetry_stats"] = {"energy_consumption": {"unit": "MJ", "gpu0": {"avg": 900.0, "min": 900.0, "max": 900.0}}}
        self.pair("energy.lifetime", "error", counter, stats)

    def test_text_is_for_people(self):
        path = os.path.join(self.dir, "t.json")
        doc = good()
        doc["output_throughput"] = 25.0
        with open(path, "w", encoding="utf-8") as f:
            json.dump(doc, f)
        p = subprocess.run([JOULEMARK, "audit", path, "--checks"], capture_output=True, text=True, timeout=60)
        self.assertEqual(p.returncode, 1)
        self.assertTrue(all(len(line) <= 80 for line in p.stdout.splitlines() if path not in line))
        first = [line for line in p.stdout.splitlines() if line.startswith(("ERROR", "WARNING", "note"))]
        rank = {"ERROR": 0, "WARNIN": 1, "note": 2}
        order = [rank[line.split()[0][:6] if not line.startswith("ERROR") else "ERROR"] for line in first]
        self.assertEqual(order, sorted(order))  # worst first
        self.assertIn("evidence:", p.stdout)

    def test_files_that_are_none(self):
        for name, text, status, part in (("a.txt", "hello", 4, "nothing that can be imported"), ("b.json", "{}", 4, "JSON"),
                                         ("c.json", '{"duration": 1, "completed": 1, "model_id": "m", "tokenizer_id": ', 4, "byte")):
            path = os.path.join(self.dir, name)
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
            p = subprocess.run([JOULEMARK, "audit", path], capture_output=True, text=True, timeout=60)
            self.assertEqual(p.returncode, status)
            self.assertIn(part, p.stderr)
            self.assertEqual(len(p.stderr.splitlines()), 1)


if __name__ == "__main__":
    tap.main()

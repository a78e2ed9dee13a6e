#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Import of vLLM, SGLang, llama-bench, llmperf, EvalScope, genai-bench, fmperf, inference-benchmarker, trtllm-bench,
InferenceX and LoadGen: small files by hand, keys as the tools write them, with the values worked out here; and files that
nobody should write."""
import json
import os
import shutil
import sqlite3
import subprocess
import tempfile
import unittest

import tap

JOULEMARK = os.environ["JOULEMARK"]
CORPUS = os.environ.get("JOULEMARK_CORPUS", os.path.join(os.environ.get("JM_SOURCE", "."), "..", "shared", "corpus"))
NS = 1_000_000_000


def run(*args):
    return subprocess.run([JOULEMARK, *args], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120)


class Files(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="tools_test.")

    def tearDown(self):
        shutil.rmtree(self.dir)

    def path(self, name):
        return os.path.join(self.dir, name)

    def write(self, name, what):
        if isinstance(what, bytes):
            with open(self.path(name), "wb") as f:
                f.write(what)
        else:
            with open(self.path(name), "w", encoding="utf-8") as f:
                f.write(what if isinstance(what, str) else json.dumps(what))
        return self.path(name)

    def load(self, path, importer, *more):
        out, text = self.path("r.jmr"), self.path("r.json")
        for f in (out, text):
            if os.path.exists(f):
                os.unlink(f)
        p = run("import", path, "-o", out, "--json", *more)
        self.assertEqual((p.returncode, p.stderr), (0, ""))
        self.assertEqual(json.loads(p.stdout)["importer"], importer)
        p = run("export", out, "--format", "json", "-o", text)
        self.assertEqual(p.returncode, 0, p.stderr)
        with open(text, encoding="utf-8") as f:
            d = json.load(f)
        d["env"] = {e["key"]: e["value"] for e in d["environment"]}
        p = run("show", out, "--json")
        self.assertIn(p.returncode, (0, 3))
        d["show"] = json.loads(p.stdout)
        d["claim"] = {c["key"]: c for c in d["show"].get("claims", [])}
        for f in ("text", "markdown", "html", "csv"):
            self.assertIn(run("show", out, "--format", f).returncode, (0, 3))
        self.assertIn(run("audit", out).returncode, (0, 1))
        return d

    def same(self, d, *keys):
        for k in keys:
            self.assertIsNotNone(d["claim"][k]["again"], k)
            self.assertFalse(d["claim"][k]["differs"], d["claim"][k])

    def declared(self, d, metric, value, quantile=None):
        r = [x for x in d["show"]["results"] if x["metric"] == metric and x.get("quantile") == quantile]
        self.assertEqual([x["provenance"] for x in r], ["declared"], r)
        self.assertAlmostEqual(r[0]["value"], value, places=9)

    def refused(self, path, *parts):
        out = self.path("no.jmr")
        for command in (("import", path, "-o", out), ("audit", path)):
            p = run(*command)
            self.assertEqual(p.returncode, 4, (command, p.stdout, p.stderr))
            self.assertEqual(len(p.stderr.splitlines()), 1, p.stderr)
            for part in parts:
                self.assertIn(part, p.stderr)
        self.assertFalse(os.path.exists(out))  # half an import is none


def vllm(**more):
    """Three requests and a failure. TTFT 100, 200, 300 ms: mean 200, p99 by numpy 200 + 0.98 x 100 = 298. The gaps: seven of
    0.1 and one of 0.5 and... (0.3 + 0.4 + 0.6) / 8 = 162.5 ms. TPOT: 0.3/3, 0.4/3, 0.6/3 -> mean 144.444 ms."""
    d = {"date": "20250827-142530", "endpoint_type": "openai", "backend": "vllm", "label": None, "model_id": "m",
         "tokenizer_id": "m", "num_prompts": 4, "request_rate": "inf", "burstiness": 1.0, "max_concurrency": 2,
         "duration": 2.0, "completed": 3, "failed": 1, "total_input_tokens": 30, "total_output_tokens": 12,
         "request_throughput": 1.5, "output_throughput": 6.0, "total_token_throughput": 21.0,
         "input_lens": [10] * 4, "output_lens": [4, 4, 4, 0], "ttfts": [0.1, 0.2, 0.3, 0.0],
         "itls": [[0.1, 0.1, 0.1], [0.1, 0.1, 0.2], [0.1, 0.5], []], "start_times": [100.0, 100.1, 100.5, 100.6],
         "generated_texts": ["a", "b", "c", ""], "errors": ["", "", "", "Internal Server Error"],
         "mean_ttft_ms": 200.0, "median_ttft_ms": 200.0, "std_ttft_ms": 81.64965809, "p99_ttft_ms": 298.0,
         "mean_tpot_ms": 144.44444, "mean_itl_ms": 162.5}
    d.update(more)
    return d


class Vllm(Files):
    def test_detailed(self):
        d = self.load(self.write("v.json", vllm()), "vllm")
        self.same(d, "mean_ttft_ms", "median_ttft_ms", "std_ttft_ms", "p99_ttft_ms", "mean_tpot_ms", "mean_itl_ms", "completed",
                  "failed", "num_prompts", "total_input_tokens", "total_output_tokens", "request_throughput",
                  "output_throughput", "total_token_throughput")
        q = d["requests"]
        self.assertEqual([r["end"] for r in q], ["ok", "ok", "ok", "http-5xx"])
        self.assertIsNone(q[3]["output_tokens"])
        # the date is that of the end, in UTC: 14:25:30 - 2 s; the second request began 0.1 s after the first
        t0 = 1756304728 * NS
        self.assertEqual(d["windows"][0]["t0_ns"], t0)
        self.assertEqual([r["scheduled_ns"] - t0 for r in q], [0, 100_000_000, 500_000_000, 600_000_000])
        ev = [e for e in d["token_events"] if e["request"] == 2]
        self.assertEqual([e["t_ns"] - t0 for e in ev], [300_000_000, 400_000_000, 500_000_000, 700_000_000])
        self.assertEqual([e["tokens"] for e in ev], [1, 1, 1, 1])  # as many chunks as tokens
        self.assertEqual([e["tokens"] for e in d["token_events"] if e["request"] == 3], [None] * 3)  # fewer: not known
        self.assertEqual(d["raw"][0]["name"], "v.json")
        self.assertEqual(d["env"]["import.kind"], "vllm-bench")

    def test_last_token_at_the_end_of_the_run(self):
        # The duration ends with the last token; stamps of tokens are kept to the microsecond. Rounding it (0.9999996 s to
        # 1 s, the end) leaves it in the run: 4 + 4 + 3 tokens, whatever part of a microsecond is cut off.
        for cut in (0, 1, 400, 499, 500, 501, 999):
            s = 1 - cut / 1e9
            d = self.load(self.write("v.json", vllm(duration=1.0 + (cut == 0) / 1e7, start_times=[0.0, 0.0, s - 0.8, 0.0],
                                                    output_lens=[4, 4, 3, 0], output_throughput=11 / 1.0,
                                                    total_output_tokens=11, date="20250827-142530")), "vllm")
            r = [x for x in d["show"]["results"] if x["metric"] == "tokens_per_s" and x.get("window")]
            self.assertEqual([x["numerator"]["value"] for x in r], [11], cut)
            ok = [x for x in d["show"]["results"] if x["metric"] == "requests_per_s" and x.get("window")]
            self.assertEqual([x["numerator"]["value"] for x in ok], [3], cut)

    def test_plain_and_older(self):
        plain = {k: v for k, v in vllm().items() if not isinstance(v, list) and k not in ("failed", "label")}
        d = self.load(self.write("v.json", plain), "vllm")
        self.assertEqual(d["requests"], [])
        self.declared(d, "ttft", 0.2)
        self.declared(d, "ttft", 0.298, 0.99)
        self.declared(d, "tokens_per_s", 6.0)
        self.assertIn("--save-detailed", d["env"]["import.missing.requests"])
        older = vllm()
        del older["start_times"]
        d = self.load(self.write("o.json", older), "vllm")
        self.assertEqual(d["env"]["import.placed"], "window start")
        self.same(d, "mean_ttft_ms", "p99_ttft_ms", "mean_itl_ms", "total_output_tokens")

    def test_lengths_without_times(self):
        """Lengths of the requests and no time of any: no latency of 0 is made of that. The stamp of the beginning places the run."""
        d = self.load(self.write("n.json", vllm(ttfts=[], itls=[], start_times=[], benchmark_start_time_unix=1786022594.5)), "vllm")
        self.assertEqual(d["requests"], [])
        self.assertIn("none of their times", d["env"]["import.missing.requests"])
        self.assertEqual([r["value"] for r in d["show"]["results"] if r["metric"].startswith("e2e") and r["value"] == 0], [])
        self.assertEqual(d["show"]["windows"][0]["t0"], "2026-08-06T13:23:14.500000000Z")
        self.declared(d, "ttft", 0.2)

    def test_lines(self):
        lines = "\n\n".join(json.dumps(x) for x in (vllm(), vllm(date="20250827-143000"), vllm(request_rate=4.0)))
        path = self.write("v.jsonl", lines + "\n")
        d = self.load(path, "vllm")
        self.assertEqual([w["trial"] for w in d["windows"]], [0, 1, 0])  # the third is another plan
        self.assertEqual(len(d["requests"]), 12)
        self.assertTrue(all(a["t1_ns"] <= b["t0_ns"] for a, b in zip(d["windows"], d["windows"][1:])))
        d = self.load(path, "vllm", "--select", "3")
        self.assertEqual([w["name"] for w in d["windows"]], ["3: rate 4.0, concurrency 2"])
        self.assertIn("no number 4", run("import", path, "--select", "4", "-o", self.path("x.jmr")).stderr)
        self.refused(self.write("cut.jsonl", lines[:-20]), "line 5")

    def test_energy_is_declared(self):
        d = self.load(self.write("v.json", vllm(gpu_energy_j=120.0, gpu_energy_duration_s=2.0, gpu_avg_power_w=60.0,
                                                gpu_energy_per_output_token_j=10.0, energy_gpu_ids=[0])), "vllm")
        self.declared(d, "energy", 120.0)
        self.declared(d, "j_per.output_token", 10.0)
        r = [x for x in d["show"]["results"] if x["metric"] == "j_per.output_token"][0]
        self.assertEqual((r["boundary"], r["set"]), ("gpu", "gpu (declared)"))

    def test_python_numbers(self):
        text = json.dumps(vllm(mean_ttft_ms=float("nan"), request_goodput=float("inf")))
        self.assertIn("NaN", text)
        d = self.load(self.write("v.json", text), "vllm")
        self.assertIsNone(d["claim"]["mean_ttft_ms"]["value"])
        self.assertIn("without a number", d["claim"]["mean_ttft_ms"]["why"])

    def test_steady_state_and_others(self):
        d = self.load(self.write("v.json", vllm(steady_state={"output_throughput": 7.0, "window": {"start_s": 0.5}})), "vllm")
        self.assertEqual(d["claim"]["steady_state.output_throughput"]["value"], 7.0)
        self.assertEqual(d["claim"]["steady_state.window.start_s"]["value"], 0.5)
        d = self.load(self.write("t.json", {"elapsed_time": 10.0, "num_requests": 100, "total_num_tokens": 5000,
                                            "requests_per_second": 10.0, "tokens_per_second": 500.0}), "vllm")
        self.declared(d, "requests_per_s", 10.0)


class Others(Files):
    def test_sglang(self):
        row = {"tag": None, "backend": "sglang-oai", "dataset_name": "random", "request_rate": 4.0, "max_concurrency": None,
               "sharegpt_output_len": None, "random_input_len": 10, "random_output_len": 3, "random_range_ratio": 1.0,
               "duration": 2.0, "completed": 2, "total_input_tokens": 20, "total_output_tokens": 6,
               "total_output_tokens_retokenized": 6, "request_throughput": 1.0, "input_throughput": 10.0,
               "output_throughput": 3.0, "total_throughput": 13.0, "mean_e2e_latency_ms": 500.0, "mean_ttft_ms": 150.0,
               "mean_itl_ms": 175.0, "accept_length": None, "concurrency": 0.5,
               "cache_report": {"total_prompt_tokens": 20, "total_cached_tokens": 8}}
        d = self.load(self.write("s.jsonl", json.dumps(row) + "\n"), "sglang")
        self.declared(d, "ttft", 0.15)
        self.assertEqual(d["claim"]["cache_report.total_cached_tokens"]["claimed"], 8)
        row.update(input_lens=[10, 10], output_lens=[3, 3], ttfts=[0.1, 0.2], itls=[[0.1, 0.2], [0.1, 0.3]],
                   generated_texts=["a", "b"], errors=["", ""], cached_tokens=[0, 8])
        d = self.load(self.write("s.jsonl", json.dumps(row) + "\n"), "sglang")
        self.same(d, "mean_ttft_ms", "mean_itl_ms", "mean_e2e_latency_ms", "total_output_tokens", "completed")
        self.assertEqual([r["asked_output_tokens"] if "asked_output_tokens" in r else r["asked_osl"] for r in d["requests"]],
                         [3, 3])
        self.assertEqual([r["cached_tokens"] for r in d["requests"]], [0, 8])

    def test_llmperf(self):
        summary = {"model": "m", "num_concurrent_requests": 2, "results_ttft_s_mean": 0.2, "results_ttft_s_quantiles_p50": 0.2,
                   "results_ttft_s_stddev": 0.1414213562, "results_end_to_end_latency_s_mean": 0.75,
                   "results_inter_token_latency_s_mean": 0.1, "results_number_output_tokens_mean": 7.5,
                   "results_num_requests_started": 3, "results_number_errors": 1, "results_num_completed_requests": 2,
                   "results_num_completed_requests_per_min": 60.0, "results_mean_output_throughput_token_per_s": 7.5}
        rows = [{"error_code": None, "error_msg": "", "inter_token_latency_s": 0.1, "ttft_s": 0.1, "end_to_end_latency_s": 0.5,
                 "number_input_tokens": 3, "number_output_tokens": 5, "number_total_tokens": 8},
                {"error_code": None, "error_msg": "", "inter_token_latency_s": 0.1, "ttft_s": 0.3, "end_to_end_latency_s": 1.0,
                 "number_input_tokens": 3, "number_output_tokens": 10, "number_total_tokens": 13},
                {"error_code": 429, "error_msg": "slow down"}]
        self.write("m_3_5_summary.json", summary)
        self.write("m_3_5_individual_responses.json", rows)
        for name in ("m_3_5_summary.json", "m_3_5_individual_responses.json"):
            d = self.load(self.path(name), "llmperf")
            self.same(d, "results_ttft_s_mean", "results_ttft_s_stddev", "results_end_to_end_latency_s_mean",
                      "results_number_errors", "results_num_completed_requests_per_min",
                      "results_mean_output_throughput_token_per_s", "results_number_output_tokens_mean")
            self.assertEqual([r["end"] for r in d["requests"]], ["ok", "ok", "rate-limit"])
            self.assertEqual(len(d["raw"]), 2)

    def test_rates_without_a_time(self):
        # Requests that do not say when they began stand at the start of their window: from the first to the last of them is no
        # time that anybody measured. Of llmperf's list alone even the duration is not known, so there is no rate at all.
        one = {"error_code": None, "error_msg": "", "inter_token_latency_s": 0.5, "ttft_s": 1.0, "end_to_end_latency_s": 10.0,
               "request_output_throughput_token_per_s": 2.0, "number_total_tokens": 30, "number_output_tokens": 20,
               "number_input_tokens": 10}
        d = self.load(self.write("a_individual_responses.json", [one] * 50), "llmperf")
        rates = [r for r in d["show"]["results"] if "_per_s" in r["metric"] and ".per_" not in r["metric"] and
                 not r["metric"].startswith("prefill")]
        self.assertEqual([r["metric"] for r in rates if r["value"] is not None], [])
        p = run("show", self.path("r.jmr"), "--explain", "throughput")
        self.assertNotIn("100.0", p.stdout)  # 50 x 20 / 10 s
        old = {k: v for k, v in vllm().items() if k != "start_times"}
        d = self.load(self.write("v.json", old), "vllm")
        rates = {r["metric"]: r["value"] for r in d["show"]["results"] if "_per_s" in r["metric"] and r.get("window")}
        self.assertEqual((rates["tokens_per_s"], rates["requests_per_s"]), (6.0, 1.5))
        self.assertFalse([m for m in rates if m.endswith((".wall", "span", ".any"))], rates)

    def test_evalscope(self):
        os.mkdir(self.path("es"))
        self.write("es/benchmark_summary.json", {"Test Duration (s)": 2.0, "Concurrency": 2, "Total Requests": 3,
                                                 "Success Requests": 2, "Failed Requests": 1, "Req Throughput (req/s)": 1.0,
                                                 "Output Throughput (tok/s)": 3.5, "TTFT (ms)": 150.0, "Avg Latency (s)": 0.45})
        self.write("es/benchmark_percentile.json", [{"Percentiles": "50%", "TTFT (ms)": 100.0}, {"Percentiles": "99%", "TTFT (ms)": 200.0}])
        db = sqlite3.connect(self.path("es/benchmark_data.db"))
        db.execute("CREATE TABLE result(request TEXT, start_time REAL, inter_token_latencies TEXT, success INTEGER,"
                   " response_messages TEXT, completed_time REAL, latency REAL, first_chunk_latency REAL, prompt_tokens INTEGER,"
                   " completion_tokens INTEGER, max_gpu_memory_cost REAL, time_per_output_token REAL, request_id TEXT, is_stream INTEGER)")
        rows = [("{}", 50.0, "[0.1, 0.1, 0.1]", 1, "", 50.4, 0.4, 0.1, 10, 4, 0, 0.1, "a", 1),
                ("{}", 50.5, "[0.1, 0.2]", 1, "", 51.0, 0.5, 0.2, 10, 3, 0, 0.15, "b", 1),
                ("{}", 51.0, "[]", 0, "", 52.0, None, None, None, None, None, None, "c", 1)]
        db.executemany("INSERT INTO result VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?)", rows)
        db.commit()
        db.close()
        for name in ("es", "es/benchmark_summary.json", "es/benchmark_data.db"):
            d = self.load(self.path(name), "evalscope")
            # nearest rank: the p50 of two is the first
            self.same(d, "TTFT (ms)", "TTFT (ms).50%", "TTFT (ms).99%", "Avg Latency (s)", "Output Throughput (tok/s)",
                      "Success Requests", "Failed Requests")
            self.assertEqual([r["output_tokens"] for r in d["requests"]], [4, 3, None])
        os.unlink(self.path("es/benchmark_data.db"))
        d = self.load(self.path("es/benchmark_percentile.json"), "evalscope")
        self.declared(d, "ttft", 0.2, 0.99)

    def test_genai_bench(self):
        d = self.load(self.write("g.json", {
            "aggregated_metrics": {"scenario": "D(100,100)", "num_concurrency": 1, "batch_size": 1,
                                   "iteration_type": "num_concurrency", "run_duration": 4.0,
                                   "mean_output_throughput_tokens_per_s": 2.5, "requests_per_second": 0.5,
                                   "num_error_requests": 0, "num_completed_requests": 2, "num_requests": 2,
                                   "stats": {"ttft": {"mean": 0.3, "p50": 0.3, "stddev": 0.1},
                                             "e2e_latency": {"max": 2.0, "sum": 3.0}, "num_output_tokens": {"sum": 10}}},
            "individual_request_metrics": [
                {"ttft": 0.2, "e2e_latency": 1.0, "num_input_tokens": 100, "num_output_tokens": 5, "error_code": None},
                {"ttft": 0.4, "e2e_latency": 2.0, "num_input_tokens": 100, "num_output_tokens": 5, "error_code": None}],
            "_time_unit": "s"}), "genai-bench")
        self.same(d, "stats.ttft.mean", "stats.ttft.stddev", "stats.e2e_latency.max", "stats.e2e_latency.sum",
                  "stats.num_output_tokens.sum", "mean_output_throughput_tokens_per_s", "requests_per_second")

    def test_fmperf(self):
        t = 1_700_000_000 * NS
        rows = [{"timestamp": t + 100_000_000, "duration_ms": 100.0, "n_tokens": 1, "worker_idx": 0, "request_idx": 0,
                 "sample_idx": 0, "response_idx": 0, "ok": True, "error": None, "exp_num_users": 1, "exp_duration": "1s"},
                {"timestamp": t + 130_000_000, "duration_ms": 30.0, "n_tokens": 2, "worker_idx": 0, "request_idx": 0,
                 "sample_idx": 0, "response_idx": 1, "ok": True, "error": None, "exp_num_users": 1},
                {"timestamp": t + 500_000_000, "duration_ms": 200.0, "n_tokens": 0, "worker_idx": 1, "request_idx": 0,
                 "sample_idx": 1, "response_idx": 0, "ok": False, "error": "Connection refused", "exp_num_users": 1}]
        d = self.load(self.write("f.json", {"results": rows, "energy": {"gpu_joules": 12.5}}), "fmperf")
        self.assertEqual([(r["end"], r["output_tokens"]) for r in d["requests"]], [("ok", 3), ("refused", None)])
        self.assertEqual(d["requests"][0]["scheduled_ns"], t)
        self.assertEqual([e["tokens"] for e in d["token_events"]], [1, 2])
        self.assertEqual(d["env"]["import.clock"], "wall")
        self.assertEqual(d["claim"]["energy.gpu_joules"]["value"], 12.5)

    def test_totals(self):
        d = self.load(self.write("h.json", {"config": {}, "start_time": "2025-01-01T00:00:00Z", "system": {}, "results": [
            {"id": "warmup", "executor_type": "x", "total_requests": 3, "successful_requests": 2, "failed_requests": 1,
             "duration_ms": 2000.0, "token_throughput_secs": 5.0, "request_rate": 1.0,
             "time_to_first_token_ms": {"p50": 100, "p99": 300, "avg": 150}, "inter_token_latency_ms": {"avg": 20}}]}),
            "hf-benchmarker")
        self.declared(d, "ttft", 0.15)
        self.declared(d, "tokens_per_s", 5.0)
        self.assertEqual(d["windows"][0]["t0_ns"], 1735689600 * NS)
        d = self.load(self.write("t.json", {
            "engine": {"model": "m", "version": "1.0"}, "world_info": {"world_size": 8}, "request_info": {"num_requests": 10},
            "performance": {"total_latency_ms": 5000.0, "system_output_throughput_tok_s": 20.0, "request_throughput_req_s": 2.0,
                            "request_latency_percentiles_ms": {"p99": 700.0, "average": 400.0, "minimum": 100.0}},
            "streaming_metrics": {"avg_ttft_ms": 50.0, "ttft_percentiles": {"p90": 80.0}}}), "trtllm-bench")
        self.declared(d, "e2e", 0.7, 0.99)
        self.declared(d, "tokens_per_s", 20.0)
        d = self.load(self.write("i.json", {"hw": "h200", "tp": 8, "ep": 1, "conc": 4, "model": "m", "framework": "vllm",
                                            "precision": "fp8", "tput_per_gpu": 10.0, "output_tput_per_gpu": 5.0,
                                            "mean_ttft": 0.1, "p99_tpot": 0.02}), "inferencex")
        self.declared(d, "ttft", 0.1)
        self.declared(d, "tpot.excl_first", 0.02, 0.99)

    def test_loadgen_summary_alone(self):
        said = ("=" * 48 + "\nMLPerf Results Summary\n" + "=" * 48 + "\nSUT name : PySUT\nScenario : Server\nCompleted tokens per second: 350.5\n"
                "Result is : VALID\n99.00 percentile latency (ns)   : 2500000000\n99.90 percentile first token latency (ns)   : 100000000\n"
                "Mean Time to Output Token (ns)   : 20000000\n=\nTest Parameters Used\ntarget_qps : 1\n")
        d = self.load(self.write("mlperf_log_summary.txt", said), "loadgen")
        self.declared(d, "e2e", 2.5, 0.99)
        self.declared(d, "ttft", 0.1, 0.999)
        self.declared(d, "tpot.excl_first", 0.02)
        self.declared(d, "tokens_per_s", 350.5)
        self.assertEqual(d["env"]["loadgen.target_qps"], "1")

    def test_loadgen_without_power(self):
        os.makedirs(self.path("m/performance/run_1"))
        entry = ':::MLLOG {"key": "%s", "value": %s, "time_ms": 1.0, "namespace": "mlperf::logging", "metadata": {}}\n'
        values = (("power_begin", '"07-17-2024 20:58:36.235"'), ("power_end", '"07-17-2024 21:40:16.287"'),
                  ("result_validity", '"VALID"'), ("result_first_token_99.00_percentile_latency_ns", "519270971"),
                  ("result_time_per_output_token_50.00_percentile_ns", "138267737"),
                  ("result_completed_tokens_per_second", "23113.1"))
        self.write("m/performance/run_1/mlperf_log_detail.txt", "".join(entry % v for v in values))
        for path in ("m", "m/performance/run_1/mlperf_log_detail.txt"):
            d = self.load(self.path(path), "loadgen")
            self.declared(d, "ttft", 0.519270971, 0.99)
            self.declared(d, "tpot.excl_first", 0.138267737, 0.5)
            self.declared(d, "tokens_per_s", 23113.1)
            self.assertAlmostEqual((d["windows"][0]["t1_ns"] - d["windows"][0]["t0_ns"]) / NS, 2500.052, places=3)

    def test_llama_bench_of_the_corpus(self):
        folder = os.path.join(CORPUS, "sse")
        if not os.path.isdir(folder):
            self.skipTest("no public test data")
        d = self.load(os.path.join(folder, "llama-bench.json"), "llama-bench")
        rates = [c for c in d["show"]["claims"] if c["key"] == "avg_ts"]
        # 96 tokens / (4540556924 + 236283509 + 5886494533) ns = 9.0029 tokens/s; the file says 49.3
        self.assertAlmostEqual(rates[1]["claimed"], 49.30, places=2)
        self.assertAlmostEqual(rates[1]["again"], 96 / 10.663334966, places=4)
        self.assertTrue(rates[1]["differs"])
        self.assertTrue(all(not c["differs"] for c in d["show"]["claims"] if c["key"].endswith("_ns")))
        for name in ("llama-bench-t1.jsonl", "llama-bench.csv"):
            self.load(os.path.join(folder, name), "llama-bench")

    def test_llama_bench_table(self):
        text = ("| model | size | params | backend | threads | test | t/s |\n| --- | ---: | ---: | --- | ---: | ---: | ---: |\n"
                "| llama 1B Q4_0 | 1 MiB | 1 B | CPU | 2 | pp512 | 123.45 ± 1.20 |\n"
                "| llama 1B Q4_0 | 1 MiB | 1 B | CPU | 2 | tg128 @ d64 | 49.30 ± 74.60 |\n\nbuild: x\n")
        d = self.load(self.write("l.md", text), "llama-bench")
        self.assertEqual([w["name"] for w in d["windows"]], ["1: pp512", "2: tg128 at depth 64"])
        self.declared(d, "tokens_per_s", 49.3)


class Hostile(Files):
    def test_files_that_nobody_should_write(self):
        head = '{"duration": 1.0, "completed": 1, "model_id": "m", "tokenizer_id": "t", "num_prompts": 1, '
        deep = head + '"input_lens": ' + "[" * 5000 + "]" * 5000 + "}"
        self.refused(self.write("deep.json", deep), "nested deeper")
        self.refused(self.write("u16.json", "\ufeff{}".encode("utf-16-le")), "UTF-16")
        self.refused(self.write("gz.json", b"\x1f\x8b\x08\x00aaaa"), "gunzip")
        self.refused(self.write("bin.json", bytes(range(256)) * 20), "nothing that can be imported")
        self.refused(self.write("empty.json", b""), "empty")
        self.refused(self.write("a.json", json.dumps(vllm(ttfts=[0.1]))), "differ in length", "ttfts")
        self.refused(self.write("b.json", json.dumps(vllm(ttfts=3))), "no array")
        self.refused(self.write("c.json", json.dumps(vllm(itls=[["x"], [], [], []]))), "no time")
        self.refused(self.write("d.json", json.dumps(vllm())[:-30]), "line 1 (byte")
        self.refused(self.write("e.json", json.dumps(vllm()) + "]"), "not valid JSON")

    def test_numbers_out_of_any_range(self):
        for k, v in (("duration", 1e300), ("duration", -5.0), ("duration", 1e9), ("mean_ttft_ms", 1e308), ("ttfts", [1e9] * 4),
                     ("start_times", [1e300, 0, -1e18, 5]), ("output_lens", [10**30, -5, 4, 0]), ("completed", -1)):
            path = self.write("n.json", vllm(**{k: v}))
            out = self.path("n.jmr")
            p = run("import", path, "-o", out, "--force")
            self.assertIn(p.returncode, (0, 4), (k, v, p.stderr))
            if not p.returncode:
                self.assertIn(run("show", out).returncode, (0, 3), (k, v))
                self.assertIn(run("audit", out).returncode, (0, 1), (k, v))

    def test_bom_and_duplicate_keys(self):
        text = json.dumps(vllm())[:-1] + ', "mean_ttft_ms": 210.0, "duration": 4.0}'
        d = self.load(self.write("b.json", b"\xef\xbb\xbf" + text.encode()), "vllm")
        self.assertEqual(d["windows"][0]["t1_ns"] - d["windows"][0]["t0_ns"], 4 * NS)  # the last counts, as in Python

    def test_names_that_are_not_plain(self):
        d = self.load(self.write("we ird'\"%3F?#.json", vllm(label="\u001b[31mred\u0000", model_id="é€")), "vllm")
        self.assertEqual(d["env"]["endpoint.model"], "é€")

    def test_database_that_is_a_trap(self):
        path = self.path("benchmark_data.db")
        db = sqlite3.connect(path)
        db.execute("CREATE TABLE t(x)")
        db.execute("CREATE VIEW result AS WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT x FROM r")
        db.commit()
        db.close()
        self.refused(path, "database")

    def test_the_same_file_gives_the_same_run(self):
        path = self.write("v.json", vllm())
        for name in ("a.jmr", "b.jmr"):
            self.assertEqual(run("import", path, "-o", self.path(name)).returncode, 0)
        with open(self.path("a.jmr"), "rb") as a, open(self.path("b.jmr"), "rb") as b:
            self.assertEqual(a.read(), b.read())

    def test_memory(self):
        """300,000 requests of one token: with less than 200 bytes each beyond what a small import takes."""
        with open(JOULEMARK, "rb") as f:
            if b"__asan_init" in f.read():
                self.skipTest("a sanitizer keeps what was freed")
        n = 300_000
        path = self.path("big.json")
        with open(path, "w", encoding="utf-8") as f:
            f.write('{"model_id": "m", "tokenizer_id": "m", "duration": 3000.0, "completed": %d, "output_lens": [' % n)
            f.write(",".join(["1"] * n) + '], "ttfts": [' + ",".join(["0.0512345678"] * n) + '], "itls": [')
            f.write(",".join(["[]"] * n) + '], "generated_texts": [' + ",".join(['"' + "x" * 60 + '"'] * n) + '], "start_times": [')
            f.write(",".join("%.3f" % (i * 0.01) for i in range(n)) + "]}")

        def peak(file):
            code = ("import resource,subprocess,sys;subprocess.run(sys.argv[1:],check=True,stdout=subprocess.DEVNULL);"
                    "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
            p = subprocess.run(["python3", "-c", code, JOULEMARK, "import", file, "-o", self.path("m.jmr"), "--force"],
                               capture_output=True, text=True, check=True)
            return int(p.stdout) * 1024
        self.assertGreater(os.path.getsize(path), 16 << 20)  # mapped
        small = peak(self.write("s.json", vllm()))
        self.assertLess((peak(path) - small) / n, 200)


if __name__ == "__main__":
    tap.main()

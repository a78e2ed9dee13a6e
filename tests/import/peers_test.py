#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Import of AIPerf, GenAI-Perf, guidellm and inference-perf: small files by hand, with the values worked out here."""
import itertools
import json
import os
import shutil
import subprocess
import tempfile
import unittest

import tap

JOULEMARK = os.environ["JOULEMARK"]
S = 1_000_000_000
IDS = itertools.count(1)
T0 = 1_795_977_600 * S  # a moment of 2026, ns


def run(*args):
    return subprocess.run([JOULEMARK, *args], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)


class Files(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="peers_test.")

    def tearDown(self):
        shutil.rmtree(self.dir)

    def write(self, name, what):
        path = os.path.join(self.dir, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            if isinstance(what, str):
                f.write(what)
            elif name.endswith(".jsonl"):
                f.write("".join(json.dumps(x) + "\n" for x in what))
            else:
                json.dump(what, f)
        return path

    def load(self, path, *more):
        """The imported run as its raw export."""
        out, text = os.path.join(self.dir, "r.jmr"), os.path.join(self.dir, "r.json")
        for f in (out, text):
            if os.path.exists(f):
                os.unlink(f)
        p = run("import", path, "-o", out, *more)
        self.assertEqual((p.returncode, p.stderr), (0, ""))
        p = run("export", out, "--format", "json", "-o", text)
        self.assertEqual(p.returncode, 0, p.stderr)
        with open(text, encoding="utf-8") as f:
            d = json.load(f)
        env = d["environment"]
        d["env"] = env if isinstance(env, dict) else {e["key"]: e["value"] for e in env}
        d["claim"] = {(c["key"], c["window"]): c for c in d["claims"]}
        return d

    def shown(self):
        p = run("show", os.path.join(self.dir, "r.jmr"), "--json")
        return json.loads(p.stdout)

    def findings(self, path, *more):
        """Ids that the audit of a file finds."""
        p = run("audit", path, "--json", *more)
        self.assertIn(p.returncode, (0, 1), p.stderr)
        return {f["id"] for f in json.loads(p.stdout)["findings"]}

    def result(self, metric, quantile=None):
        return [r["value"] for r in self.shown()["results"]
                if r["metric"] == metric and r.get("quantile") == quantile and r.get("boundary") in (None, "gpu")][0]


def value(v, unit):
    return {"value": v, "unit": unit}


def aiperf(start_ms, credit_ms=None, phase="profiling", ttft=50.0, gaps=(10.0, 0.0, 20.0), error=None, cancelled=False, **more):
    """A record of a request: it starts start_ms after T0."""
    start = T0 + int(start_ms * 1_000_000)
    latency = ttft + sum(gaps)
    meta = {"session_num": 0, "x_request_id": f"a{next(IDS)}", "request_start_ns": start, "request_ack_ns": start + 1_000_000,
            "request_end_ns": start + int(latency * 1_000_000), "worker_id": "w", "record_processor_id": "p",
            "benchmark_phase": phase, "was_cancelled": cancelled}
    if credit_ms is not None:
        meta["credit_issued_ns"] = T0 + int(credit_ms * 1_000_000)
    metrics = {} if error else {"time_to_first_token": value(ttft, "ms"), "request_latency": value(latency, "ms"),
                                "inter_chunk_latency": value(list(gaps), "ms"),
                                "input_sequence_length": value(7, "tokens"), "output_sequence_length": value(9, "tokens")}
    metrics.update(more)
    return {"metadata": meta, "metrics": metrics, "error": error}


def stat(unit, **v):
    return dict({"unit": unit}, **v)


class AIPerf(Files):
    def test_records(self):
        """Stamps, chunks that share one (a gap of 0), warm-up apart, credit as the scheduled time."""
        d = self.load(self.write("profile_export.jsonl", [
            aiperf(0, phase="warmup"),
            aiperf(1000, 995, usage_completion_tokens=value(5, "tokens"), usage_prompt_tokens=value(12, "tokens")),
            aiperf(2000, 1999, error={"code": 503, "type": "HTTP", "message": "busy"}),
            aiperf(2000, 2000, error={"code": 499, "type": "RequestCancellationError", "message": "x"}, cancelled=True)]))
        self.assertEqual([(w["role"], w["name"]) for w in d["windows"]], [("warm-up", "warmup"), ("measure", "profiling")])
        warm, q, busy, gone = d["requests"]
        self.assertEqual(q["scheduled_ns"], T0 + 995_000_000)
        self.assertEqual(q["sent_ns"], T0 + S)
        self.assertEqual(q["headers_ns"], T0 + S + 1_000_000)
        self.assertEqual(q["first_token_ns"], T0 + S + 50_000_000)
        self.assertEqual(q["last_token_ns"], T0 + S + 80_000_000)
        self.assertEqual((q["events"], q["shared_stamp"]), (4, 1))
        self.assertEqual((q["prompt_tokens"], q["output_tokens"]), (12, 5))  # the server's, not the client's 7 and 9
        self.assertEqual((warm["prompt_tokens"], warm["output_tokens"]), (7, 9))
        self.assertEqual((busy["end"], busy["http_status"]), ("http-5xx", 503))
        self.assertEqual((gone["end"], gone["http_status"]), ("aborted", None))
        self.assertEqual(d["env"]["import.tokens.server_total"], "5")
        self.assertEqual(d["env"]["import.tokens.client_total"], "9")
        self.assertAlmostEqual(self.result("ttft"), 0.055)              # 1050 - 995 ms
        self.assertAlmostEqual(self.result("itl.token_mean"), 0.0075)   # 30 ms / 4
        self.assertAlmostEqual(self.result("queue"), 0.005)

    def test_older_records(self):
        """Tags of the first versions, other units, no phase."""
        r = aiperf(0)
        del r["metadata"]["benchmark_phase"], r["metadata"]["was_cancelled"], r["metrics"]["time_to_first_token"]
        r["metrics"]["ttft"] = value(50000, "us")
        r["metrics"]["request_latency"] = value(0.08, "sec")
        d = self.load(self.write("profile_export.jsonl", [r]))
        q = d["requests"][0]
        self.assertEqual((q["scheduled_ns"], q["first_token_ns"], q["last_token_ns"]), (T0, T0 + 50_000_000, T0 + 80_000_000))
        self.assertEqual([w["role"] for w in d["windows"]], ["measure"])

    def summary(self, **more):
        d = {"schema_version": "1.4", "aiperf_version": "0.13.0", "start_time": "2026-11-29T18:40:25.560362",
             "end_time": "2026-11-29T18:40:27.560362", "was_cancelled": False, "error_summary": [],
             "input_config": {"endpoint": {"model_names": ["m"]}},
             "request_latency": stat("ms", avg=80.0, p99=80.0, count=1, std=0.0),
             "time_to_first_token": stat("ms", avg=50.0, p50=50.0, p99=51.0, std=1.0, count=2, sum=100.0),
             "output_token_throughput": stat("tokens/sec", avg=2.5),
             "request_count": stat("requests", avg=1.0), "benchmark_duration": stat("sec", avg=2.0),
             "nvidia_total_gpu_energy": stat("J", avg=700.0),
             "nvidia_energy_per_output_token": stat("mJ/token", avg=140000.0)}
        d.update(more)
        return d

    def test_summary(self):
        d = self.load(self.write("profile_export_aiperf.json", self.summary()))
        c = d["claim"]
        ttft = c[("time_to_first_token.p99", 0)]
        self.assertEqual((ttft["metric"], ttft["stat"], ttft["value"], ttft["unit"]), ("ttft.from_sent", "p99", 51.0, "ms"))
        rate = c[("output_token_throughput.avg", 0)]
        self.assertEqual((rate["metric"], rate["stat"] or "", rate["value"]), ("tokens_per_s", "", 2.5))
        joules = c[("nvidia_energy_per_output_token.avg", 0)]
        self.assertEqual((joules["metric"], joules["unit"], joules["boundary"]), ("j_per.output_token", "mJ/token", "gpu"))
        self.assertEqual(c[("request_count.avg", 0)]["metric"], "requests.ok")
        w = d["windows"][0]
        self.assertEqual(w["t1_ns"] - w["t0_ns"], 2 * S)
        self.assertIn("import.missing.requests", d["env"])
        self.assertEqual(d["env"]["endpoint.model"], "m")
        self.assertEqual(d["requests"], [])

    def test_summary_of_the_first_schema(self):
        d = self.summary()
        d = {"records": {k: v for k, v in d.items() if isinstance(v, dict) and "unit" in v}, "input_config": {},
             "was_cancelled": False, "error_summary": [], "start_time": None, "end_time": None}
        c = self.load(self.write("a.json", d))["claim"]
        self.assertEqual(c[("records.time_to_first_token.avg", 0)]["metric"], "ttft.from_sent")

    def test_csv(self):
        text = ("Metric,avg,min,max,sum,p1,p5,p10,p25,p50,p75,p90,p95,p99,std\n"
                "Time to First Token (ms),9.45,3.61,27.63,377.94,3.72,3.92,4.29,5.34,9.08,12.02,15.89,16.63,23.75,4.94\n"
                "\"Output Sequence Length (tokens)\",\"1,425.5\",,,,,,,,,,,,,\n\nMetric,Value\nOutput Token Throughput (tokens/sec),"
                "\"4,190.64\"\nTotal GPU Energy (J),1135.72\n\nEndpoint,GPU_Index,Metric,avg\nlocalhost,0,Power (W),1\n")
        c = self.load(self.write("profile_export_aiperf.csv", text))["claim"]
        self.assertEqual(c[("Time to First Token.p99", 0)]["value"], 23.75)
        self.assertEqual(c[("Time to First Token.p99", 0)]["metric"], "ttft.from_sent")
        self.assertEqual(c[("Output Sequence Length.avg", 0)]["value"], 1425.5)
        self.assertEqual((c[("Output Token Throughput", 0)]["value"], c[("Output Token Throughput", 0)]["metric"]), (4190.64, "tokens_per_s"))
        self.assertEqual(c[("Total GPU Energy", 0)]["boundary"], "gpu")
        self.assertFalse([k for k, _ in c if "Power (W)" in k])

    def telemetry(self, energy="nvidia_energy_consumption", power="nvidia_power_usage"):
        """Two boards at 500 W and 300 W from T0 to T0 + 4 s, counters that began long ago, a scrape each 0.5 s."""
        out = []
        for i in range(9):
            for gpu, (watts, base) in enumerate(((500, 910.5), (300, 571.25))):
                out.append({"gpu_index": gpu, "gpu_uuid": f"GPU-{gpu}", "gpu_model_name": "NVIDIA H100", "hostname": "h",
                            "timestamp_ns": T0 + i * S // 2, "telemetry_source_url": "http://h:9400/metrics",
                            "telemetry_data": {energy: base + watts * 0.5 * i * 1e-6, power: float(watts)}})
        return out

    def test_folder(self):
        """The records' window is cut out of the telemetry: 2 s x 800 W for 10 tokens of one request."""
        self.write("profile_export.jsonl", [aiperf(1000, ttft=100.0, gaps=[100.0] * 19, usage_completion_tokens=value(20, "tokens"))])
        self.write("gpu_telemetry_export.jsonl", self.telemetry())
        self.write("profile_export_aiperf.json", self.summary(warmup_metrics={"request_count": stat("requests", avg=3.0)}))
        d = self.load(self.dir)
        self.assertEqual(d["env"]["import.kind"], "aiperf")
        self.assertEqual(sorted((c["name"], c["kind"], c["device"]) for c in d["channels"]),
                         [("energy", "counter", "GPU-0"), ("energy", "counter", "GPU-1"),
                          ("power.average", "gauge", "GPU-0"), ("power.average", "gauge", "GPU-1")])
        self.assertAlmostEqual(self.result("energy"), 1600, delta=1)
        self.assertAlmostEqual(self.result("j_per.output_token"), 80, delta=0.1)
        self.assertIn(("nvidia_total_gpu_energy.avg", 0), d["claim"])
        self.assertIn("sut.unknown", d["env"])
        self.assertEqual(len(d["raw"]), 3)

    def test_telemetry_alone_and_of_an_older_version(self):
        d = self.load(self.write("gpu_telemetry_export.jsonl", self.telemetry("energy_consumption", "gpu_power_usage")))
        self.assertEqual(len(d["channels"]), 4)
        self.assertAlmostEqual(self.result("energy"), 3200, delta=4)

    def test_counter_that_goes_back(self):
        """AIPerf takes a negative difference for 0 J; here the window has no energy."""
        t = self.telemetry()
        for x in t[10:]:
            x["telemetry_data"]["nvidia_energy_consumption"] -= 500
        self.write("profile_export.jsonl", [aiperf(1000, ttft=100.0, gaps=[100.0] * 19)])
        self.write("gpu_telemetry_export.jsonl", t)
        self.load(self.dir)
        e = [r for r in self.shown()["results"] if r["metric"] == "energy" and r.get("boundary") == "gpu"][0]
        self.assertNotEqual(e["validity"]["status"], "valid")
        self.assertNotEqual(e["value"], 0)

    def test_prefix(self):
        """--profile-export-prefix: files are found by how they end."""
        self.write("mine.jsonl", [aiperf(0)])
        self.write("mine_aiperf.json", self.summary())
        d = self.load(self.dir)
        self.assertEqual(len(d["requests"]), 1)
        self.assertIn(("request_latency.avg", 0), d["claim"])

    def test_odd(self):
        for text, says in (("", "empty"), ("{\"metadata\": {\"request_start_ns\": 1", ""), ("[]", "nothing that can be imported"),
                           ("{\"metadata\":{\"request_start_ns\":\"x\"},\"metrics\":{}}", "no record")):
            p = run("import", self.write("profile_export.jsonl", text), "-o", os.path.join(self.dir, "x.jmr"))
            self.assertNotEqual(p.returncode, 0, text)
            self.assertIn(says, p.stderr)
            self.assertFalse(os.path.exists(os.path.join(self.dir, "x.jmr")))


class Audit(Files):
    """Each tool's typical fault is named; without the fault it is not."""

    def aiperf_folder(self, client, failed):
        self.write("a/profile_export.jsonl", [
            aiperf(1000 + 10 * i, ttft=100.0, gaps=[100.0] * 19, usage_completion_tokens=value(20, "tokens"),
                   output_sequence_length=value(client, "tokens")) for i in range(4)] +
                   [aiperf(1100, error={"code": 500, "type": "x", "message": "y"})] * failed)
        self.write("a/gpu_telemetry_export.jsonl", AIPerf.telemetry(self))
        self.write("a/profile_export_aiperf.json", {
            "aiperf_version": "0.13.0", "schema_version": "1.4", "was_cancelled": False, "error_summary": [],
            "request_count": stat("requests", avg=4.0), "error_request_count": stat("requests", avg=float(failed)),
            "nvidia_total_gpu_energy": stat("J", avg=2100.0), "nvidia_energy_per_request": stat("joules/request", avg=525.0)})
        return os.path.join(self.dir, "a")

    def test_aiperf(self):
        found = self.findings(self.aiperf_folder(client=43, failed=2))
        self.assertLessEqual({"tokens.client", "energy.grace", "energy.per_success", "requests.failed"}, found)
        found = self.findings(self.aiperf_folder(client=20, failed=0))
        self.assertFalse({"tokens.client", "energy.per_success", "requests.failed"} & found)

    def test_requests_written_twice(self):
        once = [aiperf(10 * i) for i in range(3)]
        self.assertNotIn("requests.duplicate", self.findings(self.write("profile_export.jsonl", once)))
        self.assertIn("requests.duplicate", self.findings(self.write("profile_export.jsonl", once + once[:2])))
        d = self.load(self.write("profile_export.jsonl", once + once[:2]))
        self.assertEqual(d["env"]["import.duplicates"], "2")

        def bench(*requests):
            return self.write("benchmarks.json", {"metadata": {"guidellm_version": "0.8.1", "version": 2}, "benchmarks": [
                GuideLLM.bench(GuideLLM, successful=list(requests))]})
        one, two = GuideLLM.request(0.5), GuideLLM.request(0.7)
        self.assertNotIn("requests.duplicate", self.findings(bench(one, two)))
        self.assertIn("requests.duplicate", self.findings(bench(one, two, one)))
        for r in (one, two):
            del r["request_id"]  # without ids nobody knows
        self.assertNotIn("requests.duplicate", self.findings(bench(one, two, one)))

    def test_time_per_token_with_the_prefill(self):
        """100 ms from the first token to the last of 11; 0.15 s / 11 with the prefill, 10 ms without."""
        def bench(**metrics):
            b = GuideLLM.bench(GuideLLM, successful=[GuideLLM.request(0.5)])
            b["metrics"] = metrics
            return self.write("benchmarks.json", {"metadata": {"guidellm_version": "0.8.1", "version": 2}, "benchmarks": [b]})
        self.assertIn("tpot.prefill", self.findings(bench(time_per_output_token_ms=GuideLLM.distribution(150 / 11))))
        self.assertNotIn("tpot.prefill", self.findings(bench(inter_token_latency_ms=GuideLLM.distribution(10.0))))

    def test_a_window_without_requests(self):
        """Two benchmarks, requests in the first: the second has no rate, and it is not 0."""
        self.load(self.write("benchmarks.json", {"metadata": {"guidellm_version": "0.8.1", "version": 2}, "benchmarks": [
            GuideLLM.bench(GuideLLM, successful=[GuideLLM.request(0.5)]), GuideLLM.bench(GuideLLM, start=10.0)]}))
        shown = self.shown()
        rates = {r["metric"]: r for r in shown["results"] if r["metric"] in ("tokens_per_s", "requests_per_s") and r["trial"] == 1 and
                 r["provenance"] == "measured"}  # what the file declares stands beside
        self.assertEqual(len(rates), 2)
        for r in rates.values():
            self.assertIsNone(r["value"])
            self.assertIn("no-requests", json.dumps(r))

    def test_genai_perf(self):
        self.assertIn("energy.lifetime", self.findings(self.write("profile_export_genai_perf.json", GenAIPerf.stats(None))))

    def test_guidellm(self):
        def bench(**kw):
            return self.write("benchmarks.json", {"metadata": {"guidellm_version": "0.8.1", "version": 2}, "benchmarks": [
                GuideLLM.bench(GuideLLM, successful=[GuideLLM.request(0.5, **kw)])]})
        self.assertLessEqual({"clock.wall", "tokens.from_chunks"}, self.findings(bench(text_tokens=None)))
        self.assertNotIn("tokens.from_chunks", self.findings(bench()))
        self.assertIn("clock.backwards", self.findings(bench(first=-3600, last=-3599)))

    def test_inference_perf(self):
        ask = InferencePerf.request
        cut = "data: {\"choices\":[{\"finish_reason\":null}]}\n\n"
        found = self.findings(self.write("p.json", [ask(100.0, response=cut), ask(100.5)]))
        self.assertLessEqual({"requests.cut_ok", "tokens.client"}, found)
        found = self.findings(self.write("p.json", [ask(100.0, client=3), ask(100.5, client=3)]))
        self.assertFalse({"requests.cut_ok", "tokens.client"} & found)


class GenAIPerf(Files):
    @staticmethod
    def chunk(text=None, **more):
        d = {"choices": [{"index": 0, "delta": {"content": text} if text is not None else {}, "finish_reason": None}]}
        d.update(more)
        return "data: " + json.dumps(d) + "\n\n"

    def profile(self, outputs, stamps):
        return {"experiments": [{"experiment": {"mode": "concurrency", "value": 2}, "requests": [
            {"timestamp": T0, "request_inputs": {"payload": "{}"}, "response_timestamps": [T0 + s * 1_000_000 for s in stamps],
             "response_outputs": [{"response": o} for o in outputs]}], "window_boundaries": [T0, T0 + S]}],
            "version": "0.0.16", "service_kind": "openai", "endpoint": "v1/chat/completions"}

    def test_requests(self):
        """The role-only response and the usage are no tokens; two events of one read are one event."""
        usage = "data: " + json.dumps({"choices": [], "usage": {"prompt_tokens": 11, "completion_tokens": 4}}) + "\n\n"
        d = self.load(self.write("profile_export.json", self.profile(
            [self.chunk(""), self.chunk("a"), self.chunk("b") + self.chunk("c"), self.chunk("d") + usage + "data: [DONE]\n\n"],
            [20, 50, 60, 90])))
        q = d["requests"][0]
        self.assertEqual((q["end"], q["events"], q["output_tokens"], q["prompt_tokens"]), ("ok", 3, 4, 11))
        self.assertEqual((q["first_byte_ns"] - T0, q["first_token_ns"] - T0, q["last_token_ns"] - T0),
                         (20_000_000, 50_000_000, 90_000_000))
        self.assertEqual((d["windows"][0]["name"], d["env"]["plan.concurrency"]), ("concurrency 2", "2"))

    def test_failures(self):
        """An error inside the answer, no token, an end in the middle: none is a success."""
        error = "data: " + json.dumps({"error": {"message": "out of memory", "code": 500}}) + "\n\n"
        for outputs, stamps, end in (([self.chunk("a"), error], [10, 20], "error-event"), ([self.chunk("")], [10], "empty"),
                                     ([self.chunk("a"), self.chunk("b")], [10, 20], "cut")):
            q = self.load(self.write("profile_export.json", self.profile(outputs, stamps)))["requests"][0]
            self.assertEqual((q["end"], q["output_tokens"]), (end, None))

    def stats(self):
        return {"request_throughput": stat("requests/sec", avg=8.23), "request_latency": stat("ms", avg=120.0, p99=130.0, std=1.0),
                "time_to_first_token": stat("ms", avg=21.5, p99=30.25, std=2.0),
                "output_token_throughput_per_user": stat("tokens/sec", avg=50.0, std=1.0),
                "telemetry_stats": {"energy_consumption": {"unit": "MJ", "gpu0": {"avg": 910.5, "p99": 910.6}},
                                    "gpu_power_usage": {"unit": "W", "gpu0": {"avg": 400.0}}},
                "input_config": {"model_names": ["llama"], "endpoint": {"type": "chat"}}}

    def test_statistics(self):
        """Its energy is a counter's life; it becomes no energy of the run."""
        d = self.load(self.write("profile_export_genai_perf.json", self.stats()))
        self.assertEqual(d["env"]["import.kind"], "genai-perf")
        self.assertEqual(d["claim"][("time_to_first_token.p99", 0)]["value"], 30.25)
        c = d["claim"][("telemetry_stats.energy_consumption.gpu0.avg", 0)]
        self.assertEqual((c["metric"] or "", c["value"]), ("", 910.5))
        self.assertIn("import.energy.lifetime_counter", d["env"])
        self.assertEqual(d["env"]["endpoint.model"], "llama")

    def test_folder_and_csv(self):
        self.write("profile_export_genai_perf.json", self.stats())
        self.write("profile_export.json", self.profile([self.chunk("a") + "data: [DONE]\n\n"], [20]))
        d = self.load(self.dir)
        self.assertEqual((len(d["requests"]), d["claim"][("request_throughput.avg", 0)]["metric"]), (1, "requests_per_s"))
        text = ("Metric,avg,min,max,p99,p95,p90,p75,p50,p25,p10,p5,p1\nTime To First Token (ms),21.5,1,2,30.25,3,3,3,3,3,3,3,3\n\n"
                "Metric,Value\nRequest Throughput (per sec),8.23\n")
        c = self.load(self.write("x/a_genai_perf.csv", text))["claim"]
        self.assertEqual(c[("Time To First Token.p99", 0)]["value"], 30.25)
        self.assertEqual(c[("Request Throughput", 0)]["metric"], "requests_per_s")


class GuideLLM(Files):
    @staticmethod
    def request(start, first=0.05, last=0.15, tokens=11, text_tokens=11, **more):
        t = 1_795_977_600 + start
        d = {"type_": "generative_request_stats", "request_id": f"r{next(IDS)}", "info": {"request_id": "r", "status": "completed", "error": None,
             "timings": {"targeted_start": t - 0.25, "queued": t - 1, "resolve_start": t - 0.001, "request_start": t,
                         "first_token_iteration": t + first, "last_token_iteration": t + last, "token_iterations": 11,
                         "request_iterations": 13, "request_end": t + last + 0.001, "resolve_end": t + last + 0.002}},
             "prompt_tokens": 30, "output_tokens": tokens, "input_metrics": {"text_tokens": 30, "cached_tokens": 16},
             "output_metrics": {"text_tokens": text_tokens}}
        d.update(more)
        return d

    @staticmethod
    def distribution(v):
        one = {"mean": v, "median": v, "mode": v, "variance": 0.0, "std_dev": 0.0, "min": v, "max": v, "count": 2, "total_sum": 2 * v,
               "percentiles": {"p001": v, "p01": v, "p50": v, "p99": v, "p999": v}}
        return {"successful": one, "incomplete": dict(one, count=0, mean=0.0), "errored": None, "total": None}

    def bench(self, start=0.0, kind="constant", **requests):
        t = 1_795_977_600 + start
        return {"type_": "generative_benchmark", "config": {"strategy": {"type_": kind, "rate": 4.0}},
                "scheduler_metrics": {"start_time": t - 3, "request_start_time": t - 1, "measure_start_time": t, "measure_end_time": t + 2,
                                      "request_end_time": t + 2.5, "end_time": t + 3,
                                      "requests_made": {"successful": 1, "incomplete": 0, "errored": 0, "total": 1}},
                "metrics": {"request_totals": {"successful": 1, "incomplete": 1, "errored": 1, "total": 3},
                            "time_to_first_token_ms": self.distribution(50.0), "time_per_output_token_ms": self.distribution(15.0),
                            "output_tokens_per_second": self.distribution(5.5)},
                "requests": dict({"successful": [], "incomplete": [], "errored": [], "total": None}, **requests)}

    def test_version_2(self):
        d = self.load(self.write("benchmarks.json", {"metadata": {"version": 2, "guidellm_version": "0.8.1"}, "config": {}, "benchmarks": [
            self.bench(successful=[self.request(0.5)], incomplete=[self.request(1.9)],
                       errored=[self.request(1.0, info={"error": "Client error '429 Too Many Requests'", "timings": {
                           "targeted_start": 1_795_977_601.0, "request_start": 1_795_977_601.0, "request_end": 1_795_977_601.1,
                           "resolve_end": 1_795_977_601.1}})])]}))
        self.assertEqual([(w["role"], w["name"]) for w in d["windows"]],
                         [("warm-up", "warm-up"), ("measure", "constant 4.0/s"), ("cool-down", "cool-down")])
        ok, cut, bad = d["requests"]
        self.assertEqual((ok["end"], cut["end"], bad["end"], bad["http_status"]), ("ok", "unfinished", "rate-limit", 429))
        self.assertEqual(ok["sent_ns"] - ok["scheduled_ns"], 250_000_000)  # a schedule: latency counts from it
        self.assertEqual((ok["prompt_tokens"], ok["output_tokens"], ok["cached_tokens"]), (30, 11, 16))
        self.assertAlmostEqual(self.result("ttft"), 0.3, places=6)
        self.assertAlmostEqual(self.result("tpot.excl_first"), 0.01, places=6)           # 100 ms / 10
        self.assertAlmostEqual(self.result("tpot.incl_prefill"), 0.15 / 11, places=6)
        c = d["claim"]
        self.assertEqual(c[("time_to_first_token_ms.successful.percentiles.p001", 1)]["stat"], "p0.1")
        self.assertEqual(c[("time_to_first_token_ms.successful.percentiles.p999", 1)]["stat"], "p99.9")
        self.assertEqual(c[("time_per_output_token_ms.successful.mean", 1)]["metric"], "tpot.incl_prefill")
        self.assertEqual(c[("output_tokens_per_second.successful.mean", 1)]["metric"], "tokens_per_s")
        self.assertEqual(c[("request_totals.errored", 1)]["metric"], "requests.failed")
        self.assertEqual((d["env"]["import.clock"], d["env"]["import.version"]), ("wall", "0.8.1"))

    def test_several_benchmarks(self):
        """A window each; the same load again is its next trial; --select takes one."""
        path = self.write("benchmarks.json", {"metadata": {"version": 1}, "benchmarks": [
            self.bench(0, "synchronous", successful=[self.request(0.5)]), self.bench(10, successful=[self.request(10.5)]),
            self.bench(20, successful=[self.request(20.5)])]})
        d = self.load(path)
        self.assertEqual([(w["name"], w["trial"]) for w in d["windows"] if w["role"] == "measure"],
                         [("synchronous", 0), ("constant 4.0/s", 0), ("constant 4.0/s", 1)])
        first = d["requests"][0]
        self.assertEqual(first["sent_ns"], first["scheduled_ns"])  # as soon as possible is no schedule

    def test_chunks_are_no_tokens(self):
        """Without usage guidellm puts the number of chunks where tokens should be."""
        d = self.load(self.write("b.json", {"metadata": {"guidellm_version": "0.6.0", "version": 1}, "benchmarks": [
            self.bench(successful=[self.request(0.5, text_tokens=None)])]}))
        self.assertIsNone(d["requests"][0]["output_tokens"])
        self.assertEqual(d["env"]["import.tokens.from_chunks"], "1")

    def test_before_metadata(self):
        t = 1_795_977_600
        d = self.load(self.write("b.json", {"benchmarks": [{
            "type_": "generative_benchmark", "args": {"strategy": {"type_": "concurrent", "streams": 4}}, "run_stats": {}, "request_loader": {},
            "start_time": t, "end_time": t + 1.0, "request_totals": {"successful": 1, "total": 1},
            "requests": {"successful": [{"prompt_tokens": 21, "output_tokens": 20, "start_time": t + 0.1, "end_time": t + 0.5,
                                         "first_token_time": t + 0.2, "last_token_time": t + 0.485}], "errored": [], "incomplete": []},
            "metrics": {"time_per_output_token_ms": self.distribution(14.25)}}]}))
        # up to 0.3 its TPOT had neither the prefill in it nor the interval for its divisor: it is none of ours
        self.assertEqual(d["claim"][("time_per_output_token_ms.successful.mean", 0)]["metric"] or "", "")
        self.assertEqual(d["windows"][0]["name"], "concurrent 4")
        self.assertAlmostEqual(self.result("ttft"), 0.1, places=6)
        self.assertAlmostEqual(self.result("tpot.excl_first"), 0.015, places=6)   # 285 ms / 19

    def test_clock_set_back(self):
        """time.time() stepped by an hour between start and first token."""
        d = self.load(self.write("b.json", {"metadata": {"guidellm_version": "0.8.1"}, "benchmarks": [
            self.bench(successful=[self.request(0.5, first=-3600, last=-3599)])]}))
        self.assertEqual(d["env"]["import.clock.backwards"], "1")


class InferencePerf(Files):
    @staticmethod
    def request(start, chunks=(0.05, 0.06, 0.09), client=4, server=3, end=0.1, response=None, error=None):
        times = [start + c for c in chunks]
        per_token = [times[0]] + times if client == len(times) + 1 else times
        usage = {"prompt_tokens": 12, "completion_tokens": server, "total_tokens": 12 + (server or 0)} if server is not None else None
        return {"start_time": start, "end_time": start + end, "request": json.dumps({"model": "m", "max_tokens": 20}),
                "response": response if response is not None else "data: {}\n\ndata: [DONE]\n\n",
                "info": {"request_metrics": {"text": {"input_tokens": 10}}, "input_tokens": 10, "response_metrics": None if error else {
                    "output_tokens": client, "server_usage": usage, "response_chunks": [], "chunk_times": times,
                    "output_token_times": per_token}}, "error": error}

    @staticmethod
    def report(count, seconds=1.0, failures=0):
        d = {"mean": 0.05, "min": 0.04, "max": 0.06, "p0.1": 0.041, "median": 0.05, "p99": 0.0595, "p99.9": 0.0599}
        return {"benchmark_time_seconds": seconds, "load_summary": {"count": count, "schedule_delay": {"mean": 0.001}, "requested_rate": 4.0},
                "successes": {"count": count - failures, "latency": {"request_latency": d, "time_to_first_token": d,
                              "normalized_time_per_output_token": d, "time_per_output_token": d, "inter_token_latency": d},
                              "throughput": {"output_tokens_per_sec": 6.0, "requests_per_sec": 2.0}, "prompt_tokens": {"total": 24.0},
                              "output_tokens": {"total": 6.0}}, "failures": {"count": failures}}

    def test_folder_with_stages(self):
        """Records do not say their stage: they are dealt out by the counts, in order of their start."""
        self.write("per_request_lifecycle_metrics.json", [self.request(110.0), self.request(100.0), self.request(100.5), self.request(110.5)])
        self.write("stage_0_lifecycle_metrics.json", self.report(2))
        self.write("stage_1_lifecycle_metrics.json", self.report(2))
        self.write("summary_lifecycle_metrics.json", self.report(4))
        d = self.load(self.dir)
        self.assertEqual([w["name"] for w in d["windows"]], ["stage 0", "stage 1"])
        self.assertAlmostEqual((d["windows"][1]["t0_ns"] - d["windows"][0]["t0_ns"]) / S, 10.0, places=6)
        self.assertAlmostEqual((d["windows"][0]["t1_ns"] - d["windows"][0]["t0_ns"]) / S, 0.6, places=4)
        c = d["claim"]
        self.assertEqual(c[("stage_1.successes.latency.time_to_first_token.p99.9", 1)]["stat"], "p99.9")
        self.assertEqual(c[("stage_1.successes.latency.time_to_first_token.median", 1)]["stat"], "p50")
        whole = c.get(("successes.count", -1)) or c.get(("successes.count", None))
        self.assertEqual((whole["metric"], whole["value"]), ("requests.ok", 4))

    def test_tokens_of_server_and_client(self):
        """The server's 3 tokens in three chunks; the client's tokenizer makes 4 of them and a TPOT that is too short."""
        d = self.load(self.write("per_request_lifecycle_metrics.json", [self.request(100.0)]))
        q = d["requests"][0]
        self.assertEqual((q["prompt_tokens"], q["output_tokens"], q["asked_osl"], q["events"]), (12, 3, 20, 3))
        self.assertAlmostEqual(self.result("tpot.excl_first"), 0.02, places=6)     # 40 ms / 2, not / 3
        self.assertEqual((d["env"]["import.tokens.server_total"], d["env"]["import.tokens.client_total"]), ("3", "4"))
        q = self.load(self.write("p.json", [self.request(100.0, server=None)]))["requests"][0]
        self.assertEqual((q["prompt_tokens"], q["output_tokens"]), (10, 4))

    def test_graceful_truncation(self):
        """inference-perf #655: an answer that ends in the middle counts as success there."""
        d = self.load(self.write("p.json", [self.request(100.0, response="data: {\"choices\":[{\"finish_reason\":null}]}\n\n"),
                                            self.request(101.0, response="data: {\"choices\":[{\"finish_reason\":\"length\"}]}\n\n")]))
        self.assertEqual([q["end"] for q in d["requests"]], ["cut", "ok"])
        self.assertEqual(d["env"]["import.ok_but_cut"], "1")

    def test_errors(self):
        d = self.load(self.write("p.json", [self.request(100.0, error={"error_type": "HTTP Error 400", "error_msg": "bad"}),
                                            self.request(101.0, error={"error_type": "TimeoutError", "error_msg": ""}),
                                            self.request(102.0, error={"error_type": "ClientConnectorError", "error_msg": "Cannot connect"})]))
        self.assertEqual([(q["end"], q["http_status"]) for q in d["requests"]],
                         [("http-4xx", 400), ("timeout", None), ("refused", None)])

    def test_older_info_and_a_report_alone(self):
        r = self.request(100.0)
        r["info"] = {"input_tokens": 10, "output_tokens": 4, "output_token_times": [100.05, 100.05, 100.06, 100.09], "extra_info": {}}
        q = self.load(self.write("p.json", [r]))["requests"][0]
        self.assertEqual((q["output_tokens"], q["events"]), (4, 3))
        d = self.load(self.write("summary_lifecycle_metrics.json", self.report(4, seconds=12.5)))
        self.assertEqual(d["windows"][0]["t1_ns"] - d["windows"][0]["t0_ns"], 12_500_000_000)
        self.assertIn("import.missing.requests", d["env"])


if __name__ == "__main__":
    tap.main()

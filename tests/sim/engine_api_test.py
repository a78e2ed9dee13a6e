# SPDX-License-Identifier: Apache-2.0
"""The simulated engine as clients meet it: endpoints, streams, refusals, accounting."""
import csv
import json
import os
import re
import shutil
import subprocess
import tempfile
import threading
import unittest

import tap
from simengine import Answer, Engine, wait_for


def tokens(e, text):
    return e.post("/tokenize", {"prompt": text, "add_special_tokens": False}).json()["count"]


class Api(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.e = Engine("--speed", "20")

    @classmethod
    def tearDownClass(cls):
        cls.e.stop()

    def test_chat_stream(self):
        a = self.e.chat()
        self.assertEqual((a.status, a.end), (200, "complete"))
        self.assertTrue(a.headers["content-type"].startswith("text/event-stream"))
        self.assertIn("SIMULATED", a.headers["server"])
        self.assertIn("x-joulemark-sim", a.headers)
        c = a.chunks_json()
        self.assertEqual(c[0]["choices"][0]["delta"], {"role": "assistant", "content": ""})
        self.assertEqual(len(c), 1 + 10 + 1 + 1)  # role, ten tokens, finish, usage
        self.assertEqual(c[-1]["choices"], [])
        self.assertEqual(a.usage()["completion_tokens"], 10)
        self.assertEqual(a.finish(), "length")
        self.assertTrue(a.done())
        self.assertEqual(tokens(self.e, a.text()), 10)
        self.assertEqual(len({x["id"] for x in c}), 1)

    def test_without_asking_there_is_no_usage(self):
        a = self.e.chat(stream_options=None)
        self.assertIsNone(a.usage())
        self.assertTrue(a.done())

    def test_continuous_usage_counts_up(self):
        a = self.e.chat(stream_options={"include_usage": True, "continuous_usage_stats": True})
        n = [c["usage"]["completion_tokens"] for c in a.chunks_json()]
        self.assertEqual(n, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 10])

    def test_answer_in_one_piece(self):
        a = self.e.chat(stream=None, stream_options=None)
        j = a.json()
        self.assertEqual(j["object"], "chat.completion")
        self.assertEqual(j["usage"]["completion_tokens"], 10)
        self.assertEqual(tokens(self.e, j["choices"][0]["message"]["content"]), 10)
        self.assertEqual(j["choices"][0]["finish_reason"], "length")

    def test_completion_by_text_and_by_ids(self):
        p = "one two three"
        ids = self.e.post("/tokenize", {"prompt": p}).json()
        self.assertEqual(ids["count"], 4)  # with the beginning of sequence
        by_text = self.e.post("/v1/completions", {"prompt": p, "max_tokens": 3, "temperature": 0, "ignore_eos": True}).json()
        by_ids = self.e.post("/v1/completions", {"prompt": ids["tokens"], "max_tokens": 3, "temperature": 0,
                                                 "ignore_eos": True, "return_token_ids": True}).json()
        self.assertEqual(by_text["usage"]["prompt_tokens"], 4)
        self.assertEqual(by_text["choices"][0]["text"], by_ids["choices"][0]["text"])
        self.assertEqual(by_ids["choices"][0]["prompt_token_ids"], ids["tokens"])
        self.assertEqual(len(by_ids["choices"][0]["token_ids"]), 3)

    def test_a_completion_has_16_tokens_at_most_unless_told(self):
        j = self.e.post("/v1/completions", {"prompt": "x", "ignore_eos": True}).json()
        self.assertEqual(j["usage"]["completion_tokens"], 16)

    def test_token_ids_in_a_stream(self):
        a = self.e.post("/v1/completions", {"prompt": "a b", "max_tokens": 5, "ignore_eos": True, "stream": True,
                                            "return_token_ids": True})
        c = a.chunks_json()
        self.assertEqual(len(c[0]["choices"][0]["prompt_token_ids"]), 3)
        self.assertEqual(sum(len(x["choices"][0]["token_ids"]) for x in c), 5)

    def test_answers_end_by_themselves(self):
        n, stops = [], 0
        for i in range(40):
            j = self.e.post("/v1/completions", {"prompt": f"question {i}", "max_tokens": 150, "min_tokens": 5}).json()
            n.append(j["usage"]["completion_tokens"])
            stops += j["choices"][0]["finish_reason"] == "stop"
        self.assertTrue(all(5 <= x <= 150 for x in n))
        self.assertTrue(0 < stops < 40)

    def test_temperature_0_repeats(self):
        a, b = (self.e.post("/v1/completions", {"prompt": "again", "max_tokens": 20, "temperature": 0}).json()["choices"]
                for _ in range(2))
        self.assertEqual(a, b)
        c = self.e.post("/v1/completions", {"prompt": "again", "max_tokens": 20, "ignore_eos": True}).json()["choices"]
        d = self.e.post("/v1/completions", {"prompt": "again", "max_tokens": 20, "ignore_eos": True}).json()["choices"]
        self.assertNotEqual(c, d)

    def test_refusals(self):
        for body, status, word in [
            (b"{", 400, "JSON"), (b"[]", 400, "JSON"), (b"", 400, "JSON"),
            ({"model": "other", "messages": []}, 404, "does not exist"),
            ({"messages": []}, 400, "messages"),
            ({"messages": [{"role": "user", "content": 5}]}, 400, "content"),
            ({"messages": [{"content": "x"}]}, 400, "role"),
            ({"messages": [{"role": "user", "content": "x"}], "n": 2}, 400, "one choice"),
            ({"messages": [{"role": "user", "content": "x"}], "max_tokens": 0}, 400, "max_tokens"),
            ({"messages": [{"role": "user", "content": "x"}], "max_tokens": "5"}, 400, "max_tokens"),
            ({"messages": [{"role": "user", "content": "x"}], "max_tokens": 40000}, 400, "too large"),
            ({"messages": [{"role": "user", "content": "x"}], "max_tokens": 4, "min_tokens": 5}, 400, "min_tokens"),
            ({"messages": [{"role": "user", "content": "x " * 40000}]}, 400, "maximum context length"),
            ({"messages": [{"role": "user", "content": "x"}], "stream_options": {}}, 400, "stream"),
        ]:
            a = self.e.post("/v1/chat/completions", body)
            self.assertEqual(a.status, status, body)
            err = a.json()["error"]
            self.assertEqual(err["code"], status)
            self.assertIn(word, err["message"])
        self.assertEqual(self.e.post("/v1/completions", {"prompt": [1, 2, 10**7]}).status, 400)
        self.assertEqual(self.e.post("/v1/completions", {"prompt": ["a", "b"]}).status, 400)
        self.assertEqual(self.e.post("/v1/completions", {}).status, 400)
        self.assertEqual(self.e.get("/nowhere").status, 404)
        self.assertEqual(self.e.get("/v1/completions").status, 405)

    def test_models_health_version(self):
        m = self.e.get("/v1/models").json()["data"][0]
        self.assertEqual(m["id"], "8b-h100")
        self.assertIn("SIMULATED", m["owned_by"])
        self.assertEqual(self.e.get("/health").status, 200)
        self.assertIn("version", self.e.get("/version").json())

    @unittest.skipUnless(shutil.which("curl"), "no curl here")
    def test_curl(self):
        body = json.dumps({"messages": [{"role": "user", "content": "How much?"}], "max_tokens": 50, "ignore_eos": True, "stream": True})
        for more in ([], ["--http1.0"], ["--compressed", "-H", "Transfer-Encoding: chunked"]):
            r = subprocess.run(["curl", "-sSN", "--noproxy", "*", *more, "-d", body, self.e.url + "/v1/chat/completions"],
                               capture_output=True, text=True, timeout=30)
            self.assertEqual((r.returncode, r.stderr), (0, ""), more)
            self.assertEqual(r.stdout.count("data: "), 1 + 50 + 1 + 1)
            self.assertTrue(r.stdout.endswith("data: [DONE]\n\n"))

    def test_one_connection_serves_many(self):
        with self.e.connect() as s:
            for _ in range(3):
                s.sendall(self.e.request("GET", "/v1/models"))
                self.assertEqual(Answer(s).end, "complete")
            # two requests in one segment
            s.sendall(self.e.request("GET", "/health") + self.e.request("GET", "/version"))
            raw = b""
            while b'"version"' not in raw:
                raw += s.recv(65536)
            self.assertEqual(raw.count(b"HTTP/1.1 200"), 2)

    def test_chunked_request_and_expect(self):
        body = json.dumps({"prompt": "a", "max_tokens": 2, "ignore_eos": True}).encode()
        with self.e.connect() as s:
            s.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n")
            self.assertTrue(s.recv(100).startswith(b"HTTP/1.1 100"))
            for i in range(0, len(body), 7):
                part = body[i:i + 7]
                s.sendall(b"%x;ext=1\r\n" % len(part) + part + b"\r\n")
            s.sendall(b"0\r\nTrailer: x\r\n\r\n")
            self.assertEqual(Answer(s).json()["usage"]["completion_tokens"], 2)

    def test_request_byte_by_byte(self):
        with self.e.connect() as s:
            for b in self.e.request("POST", "/v1/completions", {"prompt": "a", "max_tokens": 1}):
                s.sendall(bytes([b]))
            self.assertEqual(Answer(s).status, 200)

    def test_malformed_requests_are_refused_and_closed(self):
        for raw, status in [
            (b"nonsense\r\n\r\n", 400), (b"GET / HTTP/2.0\r\n\r\n", 505), (b"GET x HTTP/1.1\r\n\r\n", 400),
            (b"GET / HTTP/1.1\r\nbad header\r\n\r\n", 400), (b"GET / HTTP/1.1\r\nA : b\r\n\r\n", 400),
            (b"POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n", 400), (b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400),
            (b"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
            (b"POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
            (b"POST / HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n", 413),
            (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
            (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n", 413),
            (b"GET / HTTP/1.1\r\nX: " + b"y" * 70000, 431),
            (b"GET /" + b"y" * 300 + b" HTTP/1.1\r\n\r\n", 414),
        ]:
            with self.e.connect() as s:
                s.sendall(raw)
                a = Answer(s)
                self.assertEqual(a.status, status, raw[:60])
                self.assertEqual(s.recv(10), b"", raw[:60])

    def test_metrics_are_well_formed_and_grow_per_step(self):
        def metrics():
            out = {}
            for line in self.e.get("/metrics").body.decode().splitlines():
                if line and not line.startswith("#"):
                    m = re.fullmatch(r'([a-z_:A-Z0-9]+)(\{[^}]*\})? (\S+)', line)
                    self.assertIsNotNone(m, line)
                    out[m[1] + (m[2] or "")] = float(m[3])
            return out
        label = '{engine="0",model_name="8b-h100"}'
        before = metrics()
        a = self.e.chat(max_tokens=20)
        self.assertEqual(a.usage()["completion_tokens"], 20)
        after = metrics()
        self.assertEqual(after["vllm:generation_tokens_total" + label] - before["vllm:generation_tokens_total" + label], 20)
        self.assertEqual(after["vllm:prompt_tokens_total" + label] - before["vllm:prompt_tokens_total" + label],
                         a.usage()["prompt_tokens"])
        for family in ("time_to_first_token_seconds", "e2e_request_latency_seconds", "request_queue_time_seconds"):
            self.assertEqual(after[f"vllm:{family}_count" + label] - before[f"vllm:{family}_count" + label], 1)
        self.assertEqual(after[f"vllm:inter_token_latency_seconds_count{label}"] -
                         before[f"vllm:inter_token_latency_seconds_count{label}"], 19)
        with self.e.connect() as s:
            s.sendall(self.e.request("POST", "/v1/completions", {"prompt": "x", "max_tokens": 30000, "ignore_eos": True}))
            wait_for(lambda: metrics()["vllm:generation_tokens_total" + label] > after["vllm:generation_tokens_total" + label] + 5)
            self.assertEqual(metrics()["vllm:num_requests_running" + label], 1)
        abort = 'vllm:request_success_total{engine="0",model_name="8b-h100",finished_reason="abort"}'
        wait_for(lambda: metrics()[abort] == after[abort] + 1)  # the client left, the engine noticed


def law(model):
    """The law of docs/sim-engine.md, written down once more: (P, D, T, C, phi) -> seconds, joules by part."""
    c = {}
    with open(os.path.join(os.environ.get("JM_SOURCE", ".."), "sim", "data", "models.tsv"), encoding="utf-8") as f:
        rows = [line.split("\t") for line in f if not line.startswith("#")]
    board = next(r[3] for r in rows if r[:3] == ["model", model, "gpu"])
    for r in rows:
        if r[:2] in (["model", model], ["gpu", board]) and r[2] != "gpu":
            c[r[2]] = float(r[3])

    def cost(p, d, t, ctx, mhz):
        n, phi = c["gpus"], mhz / c["clock_max"]
        x = max(0, (phi - c["volt_knee"]) / (1 - c["volt_knee"]))
        v2 = (c["volt_floor"] + (1 - c["volt_floor"]) * x) ** 2
        m = 1 + c["memory_clock_slope"] * (1 / phi - 1)
        g = c["memory_energy_share"] + (1 - c["memory_energy_share"]) * phi * v2 * m
        w, flop = c["params"] * c["weight_bytes"], 2 * c["params"]
        s = (c["step_s"] + d * c["seq_s"] + (w + ctx * c["kv_bytes"]) / (n * c["bandwidth"] * c["bandwidth_share"]) * m +
             (p + t) * flop / (n * c["flops"] * c["flops_share"]) / phi)
        return s, {"idle_j": n * (c["idle_w"] + c["context_w"]) * s, "fixed_j": c["joule_byte"] * w * g,
                   "prefill_j": p * flop * c["joule_flop_prefill"] * v2,
                   "decode_j": t * (flop * c["joule_flop_decode"] + c["joule_seq"]) * v2,
                   "context_j": c["joule_byte"] * ctx * c["kv_bytes"] * g}
    return cost, int(c["gpus"])


class Steps(unittest.TestCase):
    def test_steps_follow_the_law_and_hold_all_tokens(self):
        with tempfile.TemporaryDirectory() as d:
            path = os.path.join(d, "steps.tsv")
            with Engine("--model", "70b-4xh100", "--steps", path) as e:
                threads = [threading.Thread(target=e.chat, kwargs={"max_tokens": 5 + i, "messages": [
                    {"role": "user", "content": "word " * (40 * i)}]}) for i in range(8)]
                for t in threads:
                    t.start()
                for t in threads:
                    t.join()
                truth = e.stop()
            with open(path, encoding="utf-8") as f:
                rows = list(csv.DictReader(f, delimiter="\t"))
        cost, gpus = law("70b-4xh100")
        self.assertEqual(len(rows), truth["steps"])
        last, total, tokens = 0, 0, 0
        for r in rows:
            p, dec, t, ctx = (int(r[k]) for k in ("prefill_tokens", "decode_seqs", "decode_tokens", "context"))
            s, j = cost(p, dec, t, ctx, float(r["clock_mhz"]))
            t0, t1 = int(r["t0_ns"]), int(r["t1_ns"])
            self.assertGreaterEqual(t0, last)
            self.assertAlmostEqual((t1 - t0) * 1e-9, s, delta=2e-9)
            for k, v in j.items():
                self.assertAlmostEqual(float(r[k]), v, delta=1e-6 * max(v, 1), msg=k)
            self.assertAlmostEqual(float(r["watts"]), sum(j.values()) / s / gpus, delta=1e-3)
            last, total, tokens = t1, total + sum(j.values()), tokens + t
        parts = truth["energy_by_part_j"]
        self.assertAlmostEqual(total / (truth["energy_j"] - parts["between_steps"]), 1, delta=1e-6)
        # each request's first token comes with its prompt, all others are decoded
        self.assertEqual(tokens + len(truth["request"]), truth["tokens"]["generated"])
        ends = [int(r["t1_ns"]) for r in rows]
        for r in truth["request"]:  # a token is there when its step has ended, and no sooner
            self.assertTrue(any(t <= r["first_token_ns"] for t in ends))
            n = sum(r["first_token_ns"] < t <= r["last_token_ns"] for t in ends)
            self.assertGreaterEqual(n, r["completion_tokens"] - 1)


class Golden(unittest.TestCase):
    def test_metric_families_are_those_of_vllm(self):
        folder = tap.corpus()
        if not folder:
            self.skipTest("no public data here")
        with open(os.path.join(folder, "engine-metrics", "v0.26.0.txt"), encoding="utf-8") as f:
            golden = dict(line.split() for line in f if line.startswith("vllm:"))
        with Engine() as e:
            text = e.get("/metrics").body.decode()
        ours = dict(line.split()[2:4] for line in text.splitlines() if line.startswith("# TYPE vllm:"))
        self.assertGreater(len(ours), 20)
        self.assertEqual({k: golden.get(k) for k in ours}, ours)


class Options(unittest.TestCase):
    def test_api_key(self):
        with Engine("--api-key", "secret") as e:
            self.assertEqual(e.chat().status, 401)
            self.assertEqual(e.chat(headers={"Authorization": "Bearer wrong"}).status, 401)
            self.assertEqual(e.chat(headers={"Authorization": "Bearer secret"}).status, 200)
            self.assertEqual(e.get("/health").status, 200)

    def test_tokens_in_events(self):
        with Engine("--stream-interval", "4", "--speed", "20") as e:
            a = e.chat(max_tokens=11)
            n = [tokens(e, c["choices"][0]["delta"].get("content") or "") for c in a.chunks_json() if c["choices"]]
            self.assertEqual(n, [0, 1, 4, 4, 2, 0])
            self.assertEqual(a.usage()["completion_tokens"], 11)

    def test_speculation(self):
        with Engine("--spec-tokens", "3", "--spec-accept", "1", "--speed", "20") as e:
            a = e.chat(max_tokens=13)
            n = [tokens(e, c["choices"][0]["delta"].get("content") or "") for c in a.chunks_json() if c["choices"]]
            self.assertEqual(n, [0, 1, 4, 4, 4, 0])

    def test_reasoning(self):
        with Engine("--reasoning", "3", "--reasoning-key", "reasoning", "--speed", "20") as e:
            a = e.chat(max_tokens=6)
            d = [c["choices"][0]["delta"] for c in a.chunks_json() if c["choices"]]
            self.assertEqual(["reasoning" in x for x in d], [False, True, True, True, False, False, False, False])
            self.assertEqual(a.usage()["completion_tokens_details"], {"reasoning_tokens": 3})
            self.assertEqual(tokens(e, a.text()), 3)

    def test_utf8(self):
        with Engine("--utf8", "--speed", "20") as e:
            a = e.chat(max_tokens=60)
            self.assertGreater(len(a.text().encode()), len(a.text()))
            self.assertNotIn("\ufffd", a.text())
            self.assertEqual(tokens(e, a.text()), 60)

    def test_role_early(self):
        with Engine("--role-early") as e:
            c = e.chat().chunks_json()
            self.assertEqual([x["choices"][0]["delta"].get("role") for x in c[:3]], ["assistant", None, None])

    def test_prefix_cache_is_told(self):
        long = "word " * 200
        with Engine("--prompt-tokens-details", "--speed", "20") as e:
            u = [e.chat(messages=[{"role": "user", "content": long}]).usage() for _ in range(2)]
            self.assertNotIn("prompt_tokens_details", u[0])
            n = u[1]["prompt_tokens_details"]["cached_tokens"]
            self.assertEqual(n, (u[1]["prompt_tokens"]) // 16 * 16)
            e.post("/reset_prefix_cache", {})
            self.assertNotIn("prompt_tokens_details", e.chat(messages=[{"role": "user", "content": long}]).usage())
        with Engine("--prompt-tokens-details", "--no-prefix-cache", "--speed", "20") as e:
            u = [e.chat(messages=[{"role": "user", "content": long}]).usage() for _ in range(2)]
            self.assertNotIn("prompt_tokens_details", u[1])

    def test_truth_closes(self):
        with Engine() as e:
            e.chat(max_tokens=5)
            e.chat(max_tokens=7, stream=None, stream_options=None)
            e.post("/v1/completions", {"prompt": "x", "max_tokens": 0})
            t = e.stop()
        self.assertEqual(e.status, 0)
        self.assertEqual(t["tokens"]["generated"], 12)
        self.assertEqual(t["requests"]["length"], 2)
        self.assertEqual(t["requests"]["rejected"], 1)
        parts = t["energy_by_part_j"]
        self.assertAlmostEqual(sum(parts.values()) / t["energy_j"], 1, delta=1e-6)
        self.assertAlmostEqual(sum(g["energy_j"] for g in t["gpus"]), t["energy_j"], places=9)
        charged = sum(r["prefill_j"] + r["decode_j"] + r["shared_j"] for r in t["request"])
        self.assertAlmostEqual(charged / (t["energy_j"] - parts["between_steps"]), 1, delta=1e-6)
        for r in t["request"]:
            self.assertTrue(r["arrival_ns"] <= r["scheduled_ns"] <= r["first_token_ns"] <= r["last_token_ns"] <= r["end_ns"])


if __name__ == "__main__":
    tap.main()

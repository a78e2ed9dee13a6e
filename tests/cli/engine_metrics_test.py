#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""joulemark record --engine-metrics against endpoints that answer, lie, hang, restart or are no metrics at all."""
import gzip
import http.server
import json
import os
import shutil
import sqlite3
import subprocess
import tempfile
import threading
import time
import unittest

import patience
import tap

JOULEMARK = os.environ["JOULEMARK"]
RATE = 1000.0  # tokens/s of every engine here, by its own clock


def counter(labels="engine=\"0\"", since=0.0, base=0):
    made = base + RATE * (time.time() - since)
    return (f"# TYPE vllm:generation_tokens_total counter\nvllm:generation_tokens_total{{{labels}}} {made!r}\n"
            f"# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{{{labels}}} 3.0\n")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    began = time.time()
    asked = {}

    def log_message(self, *args):
        pass

    def send(self, body, status=200, kind="text/plain; version=0.0.4", **headers):
        body = body if isinstance(body, bytes) else body.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for k, v in headers.items():
            self.send_header(k.replace("_", "-"), v)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        name = self.path.split("/")[1]
        n = self.asked[name] = self.asked.get(name, 0) + 1
        try:
            getattr(self, "on_" + name, self.on_missing)(n)
        except OSError:
            pass

    def on_missing(self, n):
        self.send('{"detail":"Not Found"}', 404, "application/json")

    def on_ok(self, n):
        filler = "".join(f'python_gc_objects_collected_total{{generation="{i}"}} {i}\n' for i in range(3000))
        self.send(filler + counter(since=self.began))

    def on_two(self, n):
        self.send(counter(since=self.began) + counter('engine="1"', since=self.began))

    def on_restart(self, n):
        """Begins again after its third text."""
        self.send(counter(since=self.began) if n <= 3 else counter(since=time.time() - 0.001 * n))

    def on_dies(self, n):
        if n <= 3:
            self.send(counter(since=self.began))
        else:
            self.send("overloaded", 503)

    def on_html(self, n):
        self.send("<!doctype html><html><body>hello</body></html>", kind="text/html")

    def on_gzip(self, n):
        self.send(gzip.compress(counter(since=self.began).encode()), Content_Encoding="gzip")

    def on_empty(self, n):
        self.send("")

    def on_other(self, n):
        self.send("# TYPE go_goroutines gauge\ngo_goroutines 12\nup 1\n")

    def on_huge(self, n):
        self.send_response(200)
        self.send_header("Connection", "close")
        self.end_headers()
        line = b'vllm:generation_tokens_total{engine="' + b"x" * 65000 + b'"} 1\n'
        for _ in range(2000):
            self.wfile.write(line)
        self.close_connection = True

    def on_slow(self, n):
        self.server.stopping.wait(20)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64


class EngineMetrics(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(("127.0.0.1", 0), Handler)
        cls.server.stopping = threading.Event()
        threading.Thread(target=cls.server.serve_forever, daemon=True).start()
        cls.base = f"http://127.0.0.1:{cls.server.server_address[1]}"
        cls.dir = tempfile.mkdtemp(prefix="engine_metrics_test.")

    @classmethod
    def tearDownClass(cls):
        cls.server.stopping.set()
        cls.server.shutdown()
        cls.server.server_close()
        shutil.rmtree(cls.dir)

    def start(self, name, *urls, seconds="1500ms"):
        Handler.asked = {}
        file = os.path.join(self.dir, name + ".jmr")
        args = [a for u in urls for a in ("--engine-metrics", u if "://" in u else f"{self.base}/{u}")]
        return file, subprocess.Popen([JOULEMARK, "record", "-q", "--json", "-t", seconds, "--force", "-o", file, *args],
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)

    def finish(self, job):
        file, proc = job
        out, err = proc.communicate(timeout=120)
        self.assertIn(proc.returncode, (0, 3), err)  # 3: no meter here
        return json.loads(out), file

    def record(self, name, *urls, **kw):
        return self.finish(self.start(name, *urls, **kw))

    @staticmethod
    def value(doc, metric, quantile=None):
        for x in doc["results"]:
            if x["metric"] == metric and x.get("quantile") == quantile:
                return x
        return None

    @staticmethod
    def findings(doc):
        return {f["id"]: f["text"] for f in doc["validity"]["findings"]}

    def rate(self, doc, rate, width):
        """Every stretch has the engine's own rate, and the bounds hold it: they are as wide as texts came late."""
        x = self.value(doc, "engine.tokens_per_s")
        self.assertLess(x["interval"]["hi"] - x["interval"]["lo"], width * rate)
        self.assertAlmostEqual(x["value"], rate, delta=max(0.02 * rate, x["interval"]["hi"] - x["interval"]["lo"]))
        return x

    def test_counter_over_the_window(self):
        patience.again(self.counter_over_the_window)

    def counter_over_the_window(self):
        doc, file = self.record("ok", "ok", seconds="6s")
        w = doc["windows"][0]
        x = self.rate(doc, RATE, 0.2)
        self.assertLessEqual(x["interval"]["lo"], RATE * 1.0001)
        self.assertGreaterEqual(x["interval"]["hi"], RATE * 0.9999)
        self.assertAlmostEqual(x["denominator"]["value"], w["seconds"], places=6)
        self.assertAlmostEqual(self.value(doc, "engine.requests_running")["value"], 3, places=9)
        self.assertEqual(doc["engine"]["mode"], "given")
        source = [s for s in doc["engine"]["sources"] if not s["host"]][0]
        self.assertEqual((source["dialect"], source["per_step"], source["silent"]), ("vllm", True, 0))
        self.assertTrue([s for s in doc["engine"]["sources"] if s["host"]])
        # whole texts at the edges, cut down ones in between
        db = sqlite3.connect(file)
        sizes = [n for (n,) in db.execute("select bytes from scrape where url like 'http%' order by t0")]
        db.close()
        self.assertTrue(all(n > 100000 or n < 2000 for n in sizes), sizes)
        self.assertGreaterEqual(sum(n > 100000 for n in sizes), 5)  # the first one, and two at each edge
        self.assertGreaterEqual(sum(n < 2000 for n in sizes), 1)

    def test_replicas(self):
        patience.again(self.replicas)

    def replicas(self):
        doc, _ = self.record("two", "two", "ok", seconds="3s")
        x = self.rate(doc, 3 * RATE, 0.4)  # two engines of one server, and another
        self.assertEqual((x["have"], x["of"]), (2, 2))
        self.assertAlmostEqual(self.value(doc, "engine.requests_running")["value"], 9, places=9)

    def test_what_is_no_metrics(self):
        """Each is a fact with its reason, and the run goes on. Where the machine was too slow for a text, that is the reason."""
        patience.again(self.what_is_no_metrics)

    def what_is_no_metrics(self):
        cases = {"missing": "HTTP 404", "html": "web page", "gzip": "compressed", "empty": "no metrics", "huge": "longer than",
                 "slow": "in time", "other": "no engine that is known"}
        jobs = {name: self.start("no-" + name, name) for name in cases}
        jobs["refused"] = self.start("no-refused", "http://127.0.0.1:1/metrics")
        cases["refused"] = "refused"
        for name, doc in {name: self.finish(job)[0] for name, job in jobs.items()}.items():
            found = self.findings(doc)
            self.assertIn("engine.absent", found, name)
            self.assertIn(cases[name], found["engine.absent"], name)
            self.assertIsNone(self.value(doc, "engine.tokens_per_s"), name)
            self.assertEqual(len(doc["windows"]), 1, name)

    def test_restart(self):
        patience.again(self.restart)  # once the window is open, unless texts were fetched before it

    def restart(self):
        doc, _ = self.record("restart", "restart", seconds="3s")
        self.assertIn("engine.reset", self.findings(doc))
        self.assertEqual(self.value(doc, "engine.tokens_per_s")["validity"]["status"], "invalid")
        self.assertIn("engine.reset", self.value(doc, "engine.tokens_per_s")["validity"]["reasons"])

    def test_a_source_that_falls_silent(self):
        patience.again(self.a_source_that_falls_silent)

    def a_source_that_falls_silent(self):
        doc, _ = self.record("dies", "dies", "ok", seconds="2s")
        self.assertIn("engine.partial", self.findings(doc))
        self.assertIsNone(self.value(doc, "engine.tokens_per_s"))
        silent = [s for s in doc["engine"]["sources"] if "/dies" in s["url"]][0]
        self.assertGreater(silent["silent"], 0)

    def test_usage(self):
        for args, want in ((["off", "http://x/metrics"], "off and something else"), (["auto"], "no endpoint"),
                           (["ftp://x"], "http://")):
            r = subprocess.run([JOULEMARK, "record", "-t", "1s", "-o", os.path.join(self.dir, "usage.jmr"),
                                *[x for a in args for x in ("--engine-metrics", a)]], capture_output=True, text=True, timeout=60)
            self.assertEqual(r.returncode, 2, r.stderr)
            self.assertIn(want, r.stderr)


if __name__ == "__main__":
    tap.main()

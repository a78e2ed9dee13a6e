#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Servers that behave as public bug reports say servers do, by both transports: bench ends with the right status, one
sentence says what happened, what was recorded is kept and counted by its class."""
import gzip
import json
import os
import re
import resource
import shutil
import socket
import sqlite3
import struct
import subprocess
import tempfile
import threading
import time
import unittest

import patience
import tap

JOULEMARK = os.environ["JOULEMARK"]
CURL = os.path.exists(os.path.join(os.environ["JM_BUILD"], "src/modules/joulemark-curl.so"))
NOTHING = ["--sysfs-root", "/nonexistent", "--dev-root", "/nonexistent", "--nvml-lib", "/nonexistent/libnvidia-ml.so.1"]
# limits that no machine is too slow for; LIMITS where they are what is looked at
SHORT = ["-w", "0s", "--idle", "0s", "-t", "700ms", "-c", "2", "--isl", "32", "--osl", "4", "--ignore-eos", "--model", "m",
         "--stall-timeout", "60s", "--header-timeout", "60s", "--drain", "60s", "--no-edge", "-q", "--json", "--force",
         "--api", "openai.chat"]
LIMITS = ["--stall-timeout", "300ms", "--header-timeout", "300ms"]
TRANSPORTS = ["plain"] + (["curl"] if CURL else [])
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


def event(d):
    return b"data: " + json.dumps(d).encode() + b"\n\n"


def token(text="a"):
    return event({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]})


def finish(tokens=4, why="length"):
    return (event({"choices": [{"index": 0, "delta": {}, "finish_reason": why}]}) +
            event({"choices": [], "usage": {"prompt_tokens": 32, "completion_tokens": tokens}}) + b"data: [DONE]\n\n")


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


def good(c, _n=0):
    c.sendall(CHUNKED + chunk(token()))
    for _ in range(3):
        time.sleep(0.002)
        c.sendall(chunk(token()))
    c.sendall(chunk(finish()) + b"0\r\n\r\n")
    return True


def reset(c):
    c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    c.close()
    return False


class Server:
    """Answers what is asked before a load begins as an engine does, and then each request as the test says: answer(c, k)
    with the number of the request; False closes the connection."""

    def __init__(self, answer, calm=1, models=None):
        self.answer, self.calm, self.models = answer, calm, models
        self.lock, self.count, self.connections = threading.Lock(), 0, 0
        self.open = set()
        self.s = socket.socket()
        self.s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.s.bind(("127.0.0.1", 0))
        self.s.listen(1024)
        self.url = "http://127.0.0.1:%d" % self.s.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                c, _ = self.s.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self.serve, args=(c,), daemon=True).start()

    def serve(self, c):
        with self.lock:
            self.open.add(c)
        try:
            c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            data = b""
            while True:
                while b"\r\n\r\n" not in data:
                    more = c.recv(65536)
                    if not more:
                        return
                    data += more
                head, data = data.split(b"\r\n\r\n", 1)
                n = re.search(rb"(?i)content-length: (\d+)", head)
                while n and len(data) < int(n[1]):
                    data += c.recv(65536)
                data = data[int(n[1]) if n else 0:]
                if not self.reply(c, head.split(b" ", 2)[1].decode()):
                    return
        except OSError:
            pass
        finally:
            with self.lock:
                self.open.discard(c)
            c.close()

    def reply(self, c, path):
        if path == "/v1/models":
            body = b'{"data":[{"id":"m","owned_by":"test"}]}'
            c.sendall(self.models or b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
            return True
        if not path.endswith("/completions"):
            c.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            return True
        with self.lock:
            k = self.count
            self.count += 1
        if k < self.calm:
            return good(c)
        return self.answer(c, k - self.calm)

    def close(self):
        try:
            self.s.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.s.close()
        with self.lock:
            for c in list(self.open):
                try:
                    c.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass


class Base(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="hostile_test.")
        self.addCleanup(shutil.rmtree, self.dir)
        self.file = os.path.join(self.dir, "x.jmr")

    def serve(self, answer, **kw):
        s = Server(answer, **kw)
        self.addCleanup(s.close)
        return s

    def bench(self, url, transport, *args, short=SHORT, **kw):
        if os.path.exists(self.file):
            os.unlink(self.file)
        return subprocess.run([JOULEMARK, "bench", url, "-o", self.file, *short, *NOTHING, "--transport", transport, *args],
                              capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=180, **kw)

    def measured(self, answer, transport, *args, **kw):
        """A run that was measured (status 3: there is no meter here), as its report, with the words of its failures."""
        s = self.serve(answer, **kw)
        r = self.bench(s.url, transport, *args)
        s.close()
        self.assertEqual(r.returncode, 3, (transport, r.stderr))
        with sqlite3.connect(self.file) as db:
            words = [x[0] for x in db.execute("SELECT error FROM request WHERE error IS NOT NULL")]
        return json.loads(r.stdout), words, s

    def both_kinds(self, *args, **kw):
        """One in whose short window were requests that went well and some that did not."""
        doc, said, s = self.measured(*args, **kw)
        q = doc["requests"]
        self.assertTrue(q["ok"] and q["failed"] + q["aborted"], q)
        return doc, said, s

    def nothing_came_of_it(self, r, part):
        self.assertEqual(r.returncode, 4, r.stderr)
        self.assertEqual(r.stdout, "")
        last = r.stderr.rstrip("\n").split("\n")[-1]
        self.assertRegex(last, part)
        self.assertTrue(last.startswith("joulemark bench: "), last)
        self.assertFalse(os.path.exists(self.file), "no run file is left")

    @staticmethod
    def both():
        return TRANSPORTS


def some(bad, every=3):
    """Every third request goes wrong, so that a window has both."""
    return lambda c, k: bad(c) if k % every == every - 1 else good(c)


class Streams(Base):
    def case(self, bad, error, words, transport, *limits, calm=6):
        doc, said, _ = patience.again(lambda: self.both_kinds(some(bad), transport, *limits, calm=calm))
        q = doc["requests"]
        self.assertGreater(q["ok"], 0, q)
        self.assertEqual(list(q["by_error"]), [error], (transport, q, said[:2]))
        self.assertEqual(sum(q["by_error"].values()), q["failed"] + q["aborted"])
        self.assertRegex(said[0], words)
        self.assertIn("requests.failed", [f["id"] for f in doc["validity"]["findings"]])

    def test_reset_in_mid_stream(self):
        """litellm #33404: SO_LINGER 0."""
        for t in self.both():
            self.case(lambda c: (c.sendall(CHUNKED + chunk(token())), time.sleep(0.03), reset(c))[2], "cut", "reset", t)

    def test_graceful_close_in_mid_stream(self):
        """inference-perf #655: an orderly close is no success."""
        for t in self.both():
            self.case(lambda c: c.sendall(CHUNKED + chunk(token())) or False, "cut", "closed after .* without its last", t)
            self.case(lambda c: c.sendall(HEAD + b"Connection: close\r\n\r\n" + token()) or False, "cut",
                      "without finish_reason", t)
            self.case(lambda c: c.sendall(HEAD + b"Content-Length: 4000\r\n\r\n" + token()) or False, "cut", "closed after", t)

    def test_reset_that_a_proxy_made_a_stop_of(self):
        """litellm #33404: finish_reason stop and [DONE] after an upstream reset. Only the number of tokens shows it."""
        for t in self.both():
            doc, _, _ = self.measured(lambda c, k: c.sendall(CHUNKED + chunk(token() + finish(1, "stop")) + b"0\r\n\r\n")
                                      or True if k % 20 == 19 else good(c), t, "-c", "4", calm=2)
            self.assertEqual(doc["requests"]["by_error"], {})
            f = [f for f in doc["validity"]["findings"] if f["id"] == "lengths.short"]
            self.assertEqual(len(f), 1, doc["validity"])
            self.assertRegex(f[0]["text"], r"^\d+ of \d+ ")

    def test_limits_are_named_as_the_clients_own(self):
        """evalscope #851: "Not enough data to satisfy transfer length header" was the client's own time limit."""
        for t in self.both():
            self.case(lambda c: (c.sendall(CHUNKED + chunk(token())), time.sleep(0.6))[0] or False, "stalled",
                      "no further byte within the client's limit of 0.3 s", t, *LIMITS)

    def test_header_byte_by_byte(self):
        def loris(c):
            for b in HEAD + b"X: " + b"y" * 100:
                c.sendall(bytes([b]))
                time.sleep(0.01)
            return False

        for t in self.both():
            self.case(loris, "stalled", "no response header within the client's limit of 0.3 s", t, *LIMITS)

    def test_parts_that_never_end(self):
        def head(c):
            c.sendall(HEAD)
            for _ in range(40):
                c.sendall(b"X-Long: " + b"y" * 8000 + b"\r\n")
            return False

        def size(c):
            c.sendall(CHUNKED + chunk(token()) + b"0" * 200000)
            return False

        for t in self.both():
            self.case(head, "protocol", "head|header", t)
            self.case(size, "protocol", "chunk", t)

    def test_what_is_not_http(self):
        for t in self.both():
            self.case(lambda c: c.sendall(b"SSH-2.0-OpenSSH_9.2\r\n") or False, "protocol", "not HTTP", t)

    def test_redirect(self):
        for t in self.both():
            self.case(lambda c: c.sendall(b"HTTP/1.1 307 Temporary Redirect\r\nLocation: http://elsewhere/v1\r\n"
                                          b"Content-Length: 0\r\n\r\n") or True, "protocol", "redirected to http://elsewhere", t)

    def test_rate_limit(self):
        body = b'{"error":{"message":"slow down"}}'
        for t in self.both():
            self.case(lambda c: c.sendall(b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 7\r\nContent-Length: %d\r\n\r\n%s" %
                                          (len(body), body)) or True, "rate-limit", "retry after 7: slow down", t)

    def test_only_500(self):
        """TensorRT-LLM PR 17427: a load tool ended with status 0 after nothing but HTTP 500."""
        body = b'{"error":{"message":"CUDA out of memory"}}'
        answer = b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
        for t in self.both():
            doc, said, _ = self.measured(lambda c, k: c.sendall(answer) or True, t)
            self.assertEqual(list(doc["requests"]["by_error"]), ["http-5xx"])
            self.assertEqual(doc["requests"]["ok"], 0)
            self.assertEqual(doc["validity"]["status"], "invalid")
            self.assertEqual(said[0], "CUDA out of memory")


class Odd(Base):
    """What is unusual, but right."""

    def fine(self, answer, transport, *args, **kw):
        doc, said, s = self.measured(answer, transport, *args, **kw)
        self.assertEqual(doc["requests"]["by_error"], {}, said[:2])
        self.assertGreater(doc["requests"]["ok"], 3)
        return doc, s

    def test_answers_that_end_with_the_connection(self):
        for t in self.both():
            self.fine(lambda c, k: c.sendall(b"HTTP/1.0 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + token() + finish())
                      and False, t)

    def test_interim_answers(self):
        for t in self.both():
            self.fine(lambda c, k: c.sendall(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n")
                      or good(c), t)

    def test_server_that_closes_after_three(self):
        for t in self.both():
            _, s = self.fine(lambda c, k: good(c) and k % 3 != 2, t)
            self.assertGreater(s.connections, 3)

    def test_events_of_a_megabyte(self):
        big = token("x" * 1000000)
        for t in self.both():
            doc, _ = self.fine(lambda c, k: c.sendall(CHUNKED + chunk(big) + chunk(finish(4)) + b"0\r\n\r\n") or True, t)
            self.assertGreater(doc["tokens"]["output"], 0)

    def test_compression_that_nobody_asked_for(self):
        def zipped(c, k):
            z = gzip.compress(token() + finish())
            c.sendall(HEAD + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(z) + z)
            return True

        if CURL:
            self.fine(zipped, "curl")
        doc, said, _ = self.measured(zipped, "plain")
        self.assertEqual(list(doc["requests"]["by_error"]), ["protocol"])
        self.assertIn("--transport curl", said[0])


class Beginning(Base):
    def test_readiness_that_passes_too_early(self):
        """dynamo #3728: the list of models is served before the model is."""
        body = b'{"detail":"model is loading"}'
        answer = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
        for t in self.both():
            s = self.serve(lambda c, k: c.sendall(answer) or True, calm=0)
            self.nothing_came_of_it(self.bench(s.url, t), "503.*model is loading")

    def test_models_elsewhere(self):
        moved = b"HTTP/1.1 301 Moved Permanently\r\nLocation: https://elsewhere/\r\nContent-Length: 0\r\n\r\n"
        for t in self.both():
            s = self.serve(lambda c, k: c.sendall(moved) or True, calm=0, models=moved)
            self.nothing_came_of_it(self.bench(s.url, t), "elsewhere")

    def test_ten_thousand_connections_refused(self):
        """The server dies under an open loop: every arrival is in the record, none is tried without rest."""
        for t in self.both():
            s = Server(lambda c, k: (k == 200 and threading.Thread(target=s.close).start()) or (k < 20 and good(c)), calm=1)
            self.addCleanup(s.close)
            r = self.bench(s.url, t, "-t", "3s", "--rate", "5000/s", "-c", "100", "--isl", "8")
            self.assertEqual(r.returncode, 3, r.stderr)
            q = json.loads(r.stdout)["requests"]
            with sqlite3.connect(self.file) as db:
                (due, first, last), = db.execute("SELECT count(*), min(scheduled), max(scheduled) FROM request")
                bare = sum(int(v) for v, in db.execute("SELECT value FROM env WHERE key = 'load.unsent.bare'"))
            # none is missing of those that the schedule had in this time, within 6 standard deviations of a Poisson count
            expected = 5000 * (last - first) / 1e9
            self.assertGreater(expected, 5000)
            self.assertGreater(due + bare, expected - 6 * expected ** 0.5, (due, bare, expected))
            self.assertGreater(q["by_error"]["refused"], 100, q)  # of those that had their turn

    def test_out_of_file_descriptors(self):
        def few():
            resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))

        for t in self.both():
            s = self.serve(lambda c, k: good(c))
            self.nothing_came_of_it(self.bench(s.url, t, "-c", "150", preexec_fn=few), "ulimit -n 278")
            r = self.bench(s.url, t, "-c", "60", preexec_fn=few)
            self.assertEqual(r.returncode, 3, r.stderr)
            self.assertEqual(json.loads(r.stdout)["requests"]["by_error"], {})

    def test_answer_before_the_request_is_whole(self):
        """413 at once, and the connection closed with the rest of the request unread: the answer may be lost by the reset,
        but it is never taken for anything else."""
        def early(c, k):
            return False

        class Early(Server):
            def serve(self, c):
                try:
                    head = c.recv(2000)
                    if not head:
                        return
                    if b"/completions" in head and self.count >= 1:
                        c.sendall(b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 9\r\nConnection: close\r\n\r\ntoo large")
                        time.sleep(0.05)
                        c.close()
                        return
                    if b"/completions" in head:
                        self.count += 1
                        good(c)
                        return
                    self.reply(c, head.split(b" ", 2)[1].decode())
                except OSError:
                    pass
                finally:
                    c.close()

        path = os.path.join(self.dir, "p.jsonl")
        with open(path, "w") as f:
            f.write(json.dumps({"prompt": "x" * 3000000}) + "\n")
        for t in self.both():
            s = Early(early)
            s.count = 1
            self.addCleanup(s.close)
            r = self.bench(s.url, t, "--prompts", path, short=[a for a in SHORT if a not in ("--isl", "32")])
            self.assertIn(r.returncode, (3, 4), r.stderr)
            if r.returncode == 3:
                q = json.loads(r.stdout)["requests"]
                self.assertEqual(q["ok"], 0)
                self.assertLessEqual(set(q["by_error"]), {"http-4xx", "cut", "refused"})


tap.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Endpoints that refuse, break off, stall, lie or are somewhere else: bench names what happened, counts it by class, and
never makes a number of it that it is not."""
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time
import unittest

import patience
import tap

JOULEMARK = os.environ["JOULEMARK"]
# limits that no machine is too slow for; LIMITS where they are what is looked at
SHORT = ["-w", "0s", "--idle", "0s", "-t", "1s", "-c", "4", "--isl", "32", "--osl", "16", "--ignore-eos", "--stall-timeout",
         "60s", "--header-timeout", "60s", "--drain", "60s", "--no-edge", "-q", "--json"]
LIMITS = ["--stall-timeout", "500ms", "--header-timeout", "1s"]
NOTHING = ["--sysfs-root", "/nonexistent", "--dev-root", "/nonexistent", "--nvml-lib", "/nonexistent/libnvidia-ml.so.1"]


class Base(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="bad_endpoint_test.")
        self.addCleanup(shutil.rmtree, self.dir)
        self.file = os.path.join(self.dir, "x.jmr")

    def bench(self, url, *args, meters=NOTHING, env=None, **kw):
        return subprocess.run([JOULEMARK, "bench", url, "-o", self.file, *SHORT, *meters, *args], capture_output=True,
                              text=True, stdin=subprocess.DEVNULL, timeout=180, env=dict(os.environ, **(env or {})), **kw)

    def nothing_came_of_it(self, r, part, status=4):
        """One sentence, no result, and the file's name is free for the next try."""
        self.assertEqual(r.returncode, status, r.stderr)
        self.assertEqual(r.stdout, "")
        last = r.stderr.rstrip("\n").split("\n")[-1]
        self.assertIn(part, last)
        self.assertTrue(last.startswith("joulemark bench: "), last)
        self.assertFalse(os.path.exists(self.file), "no run file is left")


class Engine(Base):
    """Faults of one simulated engine, chosen by the model's name."""

    @classmethod
    def setUpClass(cls):
        cls.engine = subprocess.Popen([JOULEMARK, "sim", "engine", "--speed", "4"], stdout=subprocess.PIPE, text=True)
        cls.url = json.loads(cls.engine.stdout.readline())["url"]

    @classmethod
    def tearDownClass(cls):
        cls.engine.terminate()
        cls.engine.communicate()

    def faulty(self, fault, *args, **kw):
        return self.bench(self.url, "--model", "8b-h100+" + fault, *(LIMITS if fault.startswith(("stall", "slow")) else ()), *args, **kw)

    def measured(self, r):
        self.assertEqual(r.returncode, 3, r.stderr)  # no meter here
        return json.loads(r.stdout)

    def test_refused_before_anything_could_be_measured(self):
        for fault, part in (("401", "API key"), ("403", "403"), ("404", "model's name"), ("429", "limits the rate"),
                            ("500", "HTTP 500"), ("503", "HTTP 503"), ("refuse", "closed without an answer"),
                            ("reset", "reset by peer"), ("slow-headers=60000", "in time")):
            with self.subTest(fault):
                self.nothing_came_of_it(self.faulty(fault), part)

    def test_unknown_model(self):
        self.nothing_came_of_it(self.bench(self.url, "--model", "gpt-17"), "gpt-17")

    def test_api_key(self):
        self.nothing_came_of_it(self.bench(self.url, "--api-key-env", "JM_TEST_NO_SUCH_KEY"), "JM_TEST_NO_SUCH_KEY", 2)
        secret = "sk-secret-0123456789"
        engine = subprocess.Popen([JOULEMARK, "sim", "engine", "--api-key", secret, "--speed", "4"],
                                  stdout=subprocess.PIPE, text=True)
        try:
            url = json.loads(engine.stdout.readline())["url"]
            self.nothing_came_of_it(self.bench(url), "API key")
            self.nothing_came_of_it(self.bench(url, "--api-key-env", "JM_TEST_KEY", env={"JM_TEST_KEY": "wrong"}),
                                    "API key")
            doc = self.measured(self.bench(url, "--api-key-env", "JM_TEST_KEY", env={"JM_TEST_KEY": secret}))
            self.assertGreater(doc["requests"]["ok"], 0)
            with open(self.file, "rb") as f:
                self.assertNotIn(secret.encode(), f.read(), "the key is never stored")
        finally:
            engine.terminate()
            engine.communicate()

    def test_failures_under_load_are_counted_by_their_class(self):
        for fault, error in (("cut=5", "cut"), ("rst=5", "cut"), ("stall=5", "stalled"), ("error-event=5", "error-event"),
                             ("error-field=5", "error-event"), ("bad-json=5", "protocol"), ("bad-chunk=5", "protocol"),
                             ("status=500", "http-5xx"), ("status=429", "rate-limit"), ("status=401", "auth"),
                             ("refuse", "cut"), ("reset", "cut"), ("slow-headers=60000", "stalled")):
            with self.subTest(fault):
                # every third request only: in some try those which find out about the engine come through
                for _ in range(5):
                    r = self.faulty(fault + ",every=3", "--force", "-t", "2s" if "slow" in fault else "1s")
                    if r.returncode != 4:
                        break
                doc = self.measured(r)
                self.assertGreater(doc["requests"]["ok"], 0)
                bad = doc["requests"]["failed"] + doc["requests"]["aborted"]
                self.assertGreater(bad, 0, doc["requests"])
                self.assertEqual(sum(doc["requests"]["by_error"].values()), bad)
                self.assertEqual(len(doc["requests"]["by_error"]), 1, doc["requests"])
                self.assertIn("requests.failed", [f["id"] for f in doc["validity"]["findings"]])
                self.assertIn(error, doc["requests"]["by_error"])

    def test_no_usage(self):
        doc = self.measured(self.faulty("no-usage"))
        self.assertIsNone(doc["tokens"]["output"], "chunks are not tokens")
        f = [f for f in doc["validity"]["findings"] if f["id"] == "tokens.unknown"]
        self.assertIn("include_usage", f[0]["text"])
        self.assertFalse([x for x in doc["results"] if x["metric"].endswith("_token") and x["value"] is not None])

    def test_prompts_that_are_cut_silently(self):
        self.nothing_came_of_it(self.faulty("truncate=16"), "cuts prompts")

    def test_ends_of_the_options(self):
        for args in (["-c", "1", "--isl", "16", "--osl", "1"], ["--rate", "0.0001/s"], ["-t", "100ms"], ["--requests", "1"],
                     ["--drain", "0s"], ["--temperature", "0"], ["--temperature", "10"], ["-n", "3", "-t", "200ms"],
                     ["--seed", "9000000000000000000"], ["--connect-timeout", "1ms"], ["--stall-timeout", "1ms"],
                     ["--header-timeout", "1ms"], ["--timeout", "1ms"], ["--threads", "16", "-c", "300"],
                     ["--sample-rate", "0.01 Hz"], ["--sample-rate", "1 kHz"], ["--level", "0.999"], ["--pue", "1"]):
            with self.subTest(args):
                r = self.bench(self.url, "--force", *args)
                self.assertIn(r.returncode, (3, 4), r.stderr)
                if r.returncode == 3:
                    json.loads(r.stdout)
                else:
                    self.assertIn("1ms", args, r.stderr)
        os.unlink(self.file)
        self.nothing_came_of_it(self.bench(self.url, "--isl", "1"), "template")
        self.nothing_came_of_it(self.bench(self.url, "--isl", "10000000"), "", 4)
        for body in ("{", "[]", "1", '{"a":1} x', '"x"'):
            r = self.bench(self.url, "--extra-body", body)
            self.nothing_came_of_it(r, "--extra-body", 2)

    def test_engine_that_dies_under_load(self):
        engine = subprocess.Popen([JOULEMARK, "sim", "engine"], stdout=subprocess.PIPE, text=True)
        url = json.loads(engine.stdout.readline())["url"]

        def kill():
            patience.until(lambda: patience.metric(url, "vllm:request_success_total") >= 16)
            engine.kill()
        killer = threading.Thread(target=kill, daemon=True)
        killer.start()
        try:
            doc = self.measured(self.bench(url, "-t", "4s"))
        finally:
            engine.kill()
            engine.communicate()
        self.assertGreater(doc["requests"]["ok"], 0)
        self.assertGreater(doc["requests"]["failed"], 0)
        self.assertLess(sum(doc["requests"]["by_error"].values()), 100000, "refused connections are not tried without rest")


class Nobody(Base):
    def test_refused(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.nothing_came_of_it(self.bench(f"http://127.0.0.1:{s.getsockname()[1]}"), "refused")

    def test_unknown_host(self):
        self.nothing_came_of_it(self.bench("http://no-such-host.invalid:8000"), "no-such-host.invalid")

    def test_listens_but_never_answers(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            s.listen(1)
            self.nothing_came_of_it(self.bench(f"http://127.0.0.1:{s.getsockname()[1]}", *LIMITS), "in time")

    def serve(self, answer, wrap=None):
        """A server that says the same bytes to everybody."""
        s = socket.socket()
        s.bind(("127.0.0.1", 0))
        s.listen(8)

        def run():
            while True:
                try:
                    c, _ = s.accept()
                except OSError:
                    return
                try:
                    c = wrap(c) if wrap else c
                    c.recv(65536)
                    c.sendall(answer)
                    c.close()
                except OSError:
                    c.close()

        threading.Thread(target=run, daemon=True).start()
        self.addCleanup(s.close)
        self.addCleanup(s.shutdown, socket.SHUT_RDWR)
        return s.getsockname()[1]

    def test_not_http(self):
        for answer in (b"SSH-2.0-OpenSSH_9.2\r\n", b"\0" * 100, b"HTTP/1.1 banana\r\n\r\n", b"x" * 100000,
                       b"HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\n<html>!",
                       b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n[]", b"HTTP/1.1 302 Found\r\nlocation: /x\r\n\r\n",
                       b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999999999999\r\n\r\n"):
            with self.subTest(answer[:30]):
                self.nothing_came_of_it(self.bench(f"http://127.0.0.1:{self.serve(answer)}"), "127.0.0.1")

    def test_error_text_does_not_speak_to_the_terminal(self):
        body = b'{"error":{"message":"\\u001b[2J\\u001b]0;x\\u0007 \xff gone"}}'
        answer = b"HTTP/1.1 500 No\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body)
        r = self.bench(f"http://127.0.0.1:{self.serve(answer)}")
        self.assertNotIn("\x1b", r.stderr)
        self.nothing_came_of_it(r, "500")

    def test_plain_port_by_https(self):
        port = self.serve(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")
        self.nothing_came_of_it(self.bench(f"https://127.0.0.1:{port}"), "TLS")

    @unittest.skipUnless(shutil.which("openssl"), "no openssl command")
    def test_certificates(self):
        key, cert = os.path.join(self.dir, "k.pem"), os.path.join(self.dir, "c.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", cert, "-days",
                        "2", "-subj", "/CN=other.example", "-addext", "subjectAltName=DNS:other.example"], check=True,
                       stderr=subprocess.DEVNULL)
        ctx = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        ctx.load_cert_chain(cert, key)
        port = self.serve(b"HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n", lambda c: ctx.wrap_socket(c, server_side=True))
        url = f"https://127.0.0.1:{port}"
        self.nothing_came_of_it(self.bench(url), "self")  # self-signed: not trusted
        self.nothing_came_of_it(self.bench(url, "--ca-file", cert), "127.0.0.1")  # trusted, but another name
        self.nothing_came_of_it(self.bench(url, "--ca-file", "/nonexistent"), "/nonexistent")
        self.nothing_came_of_it(self.bench(url, "--insecure"), "500")  # the run would say so


class Elsewhere(Base):
    """The engine in a network namespace of its own: not this machine, whatever its meters say."""

    def test_no_energy_per_token(self):
        if os.geteuid() != 0 or not shutil.which("ip"):
            self.skipTest("needs root and ip")
        name, net = f"jm{os.getpid()}", f"10.203.{os.getpid() % 256}"
        made = subprocess.run(f"ip netns add {name} && ip link add {name}a type veth peer name {name}b && "
                              f"ip link set {name}b netns {name} && ip addr add {net}.1/30 dev {name}a && "
                              f"ip link set {name}a up && ip -n {name} addr add {net}.2/30 dev {name}b && "
                              f"ip -n {name} link set {name}b up", shell=True, capture_output=True, text=True)
        self.addCleanup(subprocess.run, f"ip netns del {name}; ip link del {name}a", shell=True, capture_output=True)
        if made.returncode:
            self.skipTest("no network namespace: " + made.stderr.strip())
        node = subprocess.Popen(["ip", "netns", "exec", name, JOULEMARK, "sim", "node", "--host", net + ".2"],
                                stdout=subprocess.PIPE, text=True)
        try:
            where = json.loads(node.stdout.readline())
            r = self.bench(where["url"], "-t", "5s", meters=["-m", "nvml"],
                           env={"JOULEMARK_SIM_GPU": where["state"], "JM_NVML_LIB": where["lib"]})
        finally:
            node.send_signal(signal.SIGTERM)
            node.communicate()
        self.assertEqual(r.returncode, 3, r.stderr)
        doc = json.loads(r.stdout)
        self.assertGreater(doc["requests"]["ok"], 0)
        self.assertFalse([x for x in doc["results"] if x["metric"].startswith("j_per.") and x["value"] is not None])
        self.assertTrue([x for x in doc["results"] if x["metric"] == "ttft" and x["value"] is not None])
        self.assertIn("sut.conflict", [f["id"] for f in doc["validity"]["findings"]])


tap.main()

# SPDX-License-Identifier: Apache-2.0
"""Clients that mean harm: the simulated engine stays up, bounded and exact."""
import random
import socket
import subprocess
import unittest

import tap
from simengine import SIM, Answer, Engine, wait_for


def rss_kib(pid):
    with open(f"/proc/{pid}/status") as f:
        return int(next(line for line in f if line.startswith("VmRSS")).split()[1])


class Hostile(unittest.TestCase):
    def setUp(self):
        self.e = Engine("--speed", "20", "--max-conns", "64")
        self.pid = self.e.ready["pid"]

    def tearDown(self):
        self.e.stop()
        self.assertEqual(self.e.status, 0)

    def alive(self):
        self.assertEqual(self.e.chat().usage()["completion_tokens"], 10)

    def test_mutated_requests(self):
        rng = random.Random(7)
        good = [self.e.request("POST", "/v1/chat/completions",
                               {"model": "8b-h100", "messages": [{"role": "user", "content": "x"}], "max_tokens": 2, "stream": True}),
                b"POST /v1/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n7\r\n{\"promp\r\n9\r\nt\":\"a b\"}\r\n0\r\n\r\n",
                self.e.request("POST", "/tokenize", {"prompt": "x" * 100}), self.e.request("GET", "/metrics")]
        for i in range(300):
            b = bytearray(rng.choice(good))
            for _ in range(rng.randint(1, 6)):
                at = rng.randrange(len(b))
                kind = rng.randrange(3)
                if kind == 0:
                    b[at] = rng.randrange(256)
                elif kind == 1:
                    del b[at:at + rng.randint(1, 20)]
                else:
                    b[at:at] = bytes(rng.randrange(256) for _ in range(rng.randint(1, 20)))
                if not b:
                    b = bytearray(b"x")
            s = self.e.connect()
            try:
                s.sendall(bytes(b))
                s.shutdown(socket.SHUT_WR)
                while s.recv(65536):
                    pass
            except OSError:
                pass
            s.close()
        self.alive()

    def test_odd_bodies(self):
        deep = b"[" * 100000
        for body in (deep, b'{"messages":' + deep, b'{"a":1' + b',"a":1' * 1000 + b"}", b'{"prompt":"\\u0000"}', b'{"prompt":"\xff"}',
                     b'{"prompt":[' + b"1," * 200000 + b"1]}", b'{"prompt":1e999}', b'{"prompt":"x","max_tokens":1e3}',
                     b'{"prompt":"x","max_tokens":99999999999999999999}', b'{"prompt":"x","model":5}', b'{"prompt":[]}', b'{"prompt":""}',
                     b'{"prompt":[[1,2],[3]]}', b'{"prompt":[null]}', b'{"prompt":[-1]}', b'{"prompt":"x","stream_options":5}',
                     b'{"prompt":"x","max_tokens":null}'):
            a = self.e.post("/v1/completions", body)
            self.assertIn(a.status, (200, 400), body[:40])
        self.alive()

    def test_connections_are_bounded(self):
        socks = [self.e.connect() for _ in range(100)]  # 64 are taken, the others wait in the backlog
        for s in socks[:80]:
            s.close()
        socks[99].sendall(self.e.request("GET", "/health"))
        self.assertEqual(Answer(socks[99]).status, 200)
        for s in socks:
            s.close()
        self.alive()

    def test_a_reader_that_does_not_read_is_dropped(self):
        before = rss_kib(self.pid)
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.connect(("127.0.0.1", self.e.port))
        s.sendall(self.e.request("POST", "/v1/completions", {"prompt": "x", "max_tokens": 30000, "ignore_eos": True, "stream": True},
                                 {"X-Joulemark-Fault": "huge=4194304,comments=1"}))
        others = []
        for _ in range(8):
            o = socket.socket()
            o.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            o.connect(("127.0.0.1", self.e.port))
            o.sendall(self.e.request("POST", "/v1/completions", {"prompt": "x", "max_tokens": 30000, "ignore_eos": True, "stream": True}))
            others.append(o)
        for _ in range(20):
            self.alive()
        with open(SIM, "rb") as f:
            instrumented = b"__asan_init" in f.read()
        if not instrumented:
            self.assertLess(rss_kib(self.pid) - before, 200 * 1024)
        for o in others + [s]:
            o.close()
        wait_for(lambda: self.e.get("/sim/truth").json()["requests"]["live"] == 0)

    def test_many_tokens_in_flight_are_bounded_by_the_cache(self):
        self.e.stop()
        self.e = Engine("--speed", "100", "--kv-tokens", "2048", "--max-num-seqs", "64")
        socks = []
        for i in range(40):
            s = self.e.connect()
            s.sendall(self.e.request("POST", "/v1/completions", {"prompt": f"{i} " + "w " * 100, "max_tokens": 100, "ignore_eos": True,
                                                                 "stream": True, "stream_options": {"include_usage": True}}))
            socks.append(s)
        for s in socks:
            a = Answer(s)
            self.assertEqual((a.end, a.usage()["completion_tokens"], a.done()), ("complete", 100, True))
            s.close()
        t = self.e.stop()
        self.assertGreater(t["preemptions"], 0)
        self.assertGreater(t["tokens"]["recomputed"], 0)
        self.assertEqual(t["tokens"]["generated"], 4000)
        charged = sum(r["prefill_j"] + r["decode_j"] + r["shared_j"] for r in t["request"])
        self.assertAlmostEqual(charged / (t["energy_j"] - t["energy_by_part_j"]["between_steps"]), 1, delta=1e-6)

    def test_slow_requests_do_not_hold_others(self):
        slow = self.e.connect()
        slow.sendall(b"POST /v1/completions HTTP/1.1\r\nContent-Le")
        self.alive()
        slow.sendall(b"ngth: 10\r\n\r\n{\"pro")
        self.alive()
        slow.close()


class Wrong(unittest.TestCase):
    def test_usage(self):
        for args in (["--port", "x"], ["--port"], ["--port", "70000"], ["--model", "none"], ["--nonsense"], ["word"], ["--gpus", "1-"],
                     ["--gpus", "3,3"], ["--gpus", "0-64"], ["--speed", "0"], ["--speed", "nan"], ["--fault", "nonsense"], ["--truth", ""],
                     ["--state", "/nonexistent/state"], ["--gpus", "0,1", "--model", "8b-h100"], ["--host", "256.1.1.1"]):
            r = subprocess.run([SIM, "engine", *args], capture_output=True, text=True, timeout=20)
            self.assertIn(r.returncode, (2, 4), args)
            self.assertEqual(len(r.stderr.strip().splitlines()), 1, (args, r.stderr))
            self.assertEqual(r.stdout, "")

    def test_port_in_use(self):
        with Engine() as e:
            r = subprocess.run([SIM, "engine", "--port", str(e.port)], capture_output=True, text=True, timeout=20)
            self.assertEqual(r.returncode, 4)
            self.assertIn(str(e.port), r.stderr)


if __name__ == "__main__":
    tap.main()

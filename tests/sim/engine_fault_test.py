# SPDX-License-Identifier: Apache-2.0
"""Everything that the simulated engine can do wrong on purpose, seen on the wire."""
import json
import os
import subprocess
import time
import unittest

import tap
from simengine import SIM, Answer, Engine, wait_for


class Faults(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.e = Engine("--speed", "20")

    @classmethod
    def tearDownClass(cls):
        cls.e.stop()

    def ask(self, fault, **kw):
        return self.e.chat(headers={"X-Joulemark-Fault": fault}, **kw)

    def whole(self, a, n=10):
        """All tokens, usage and the end are there once lines are read by the standard."""
        self.assertEqual((a.status, a.end), (200, "complete"))
        self.assertEqual(a.usage()["completion_tokens"], n)
        self.assertEqual(len(a.text().split(" ")), n)
        self.assertEqual(a.finish(), "length")
        self.assertTrue(a.done())

    def test_every_fault_has_a_test(self):
        names = [line.split()[0].split("=")[0] for line in
                 subprocess.run([SIM, "engine", "--list-faults"], capture_output=True, text=True, check=True).stdout.splitlines()]
        with open(__file__) as f:
            text = f.read()
        self.assertGreater(len(names), 40)
        self.assertEqual([n for n in names if f'"{n}' not in text and f"+{n}" not in text], [])

    def test_the_documentation_has_every_option_and_fault(self):
        with open(os.path.join(os.environ.get("JM_SOURCE", ".."), "docs", "sim-engine.md"), encoding="utf-8") as f:
            text = f.read()
        for flag, width in (("--list-faults", 21), ("--help", 29)):
            out = subprocess.run([SIM, "engine", flag], capture_output=True, text=True, check=True).stdout
            for line in out.splitlines():
                if line.startswith("  "):
                    self.assertIn(f"| `{line[2:2 + width].strip()}` | {line[2 + width:].strip()} |\n", text)

    def test_status(self):
        for code in (400, 401, 403, 404, 408, 429, 500, 502, 503):
            a = self.ask(f"status={code}")
            self.assertEqual((a.status, a.json()["error"]["code"]), (code, code))
            self.assertEqual("retry-after" in a.headers, code in (429, 503))
        self.assertEqual(self.ask("429").status, 429)

    def test_model_name_carries_faults(self):
        a = self.e.chat(model="8b-h100+cut=3,no-space")
        self.assertEqual(a.end, "eof")
        self.assertEqual(a.chunks_json()[0]["model"], "8b-h100+cut=3,no-space")
        self.assertEqual(self.e.chat(model="8b-h100+503").status, 503)

    def test_unknown_faults_are_refused(self):
        for f in ("nonsense", "cut=x", "cut=-1", "status=99", "bom=1", "x" * 100):
            a = self.ask(f)
            self.assertEqual(a.status, 400, f)
        self.assertEqual(self.e.chat(model="8b-h100+nonsense").status, 400)

    def test_no_answer(self):
        self.assertEqual((self.ask("refuse").end, self.ask("refuse").status), ("eof", None))
        self.assertEqual((self.ask("reset").end, self.ask("reset").status), ("reset", None))

    def test_cut_is_graceful(self):
        a = self.ask("cut=4")
        self.assertEqual((a.status, a.end), (200, "eof"))
        self.assertEqual(len(a.text().split(" ")), 4)
        self.assertIsNone(a.finish())
        self.assertFalse(a.done())
        a = self.ask("cut=0")
        self.assertEqual((a.end, a.text()), ("eof", ""))

    def test_rst(self):
        a = self.ask("rst=4")
        self.assertEqual((a.status, a.end), (200, "reset"))

    def test_cut_of_an_answer_in_one_piece(self):
        a = self.ask("cut", stream=None, stream_options=None)
        self.assertEqual((a.status, a.end), (200, "eof"))
        self.assertEqual(self.ask("rst", stream=None, stream_options=None).end, "reset")

    def test_stall(self):
        before = self.e.get("/sim/truth").json()["requests"]["abort"]
        with self.e.connect() as s:
            s.sendall(self.e.request("POST", "/v1/completions", {"prompt": "x", "max_tokens": 50, "stream": True, "ignore_eos": True},
                                     {"X-Joulemark-Fault": "stall=3"}))
            a = Answer(s, timeout=4)
            self.assertEqual((a.status, a.end), (200, "timeout"))
            self.assertEqual(a.body.count(b"data:"), 3)
        wait_for(lambda: self.e.get("/sim/truth").json()["requests"]["abort"] == before + 1)

    def test_error_events(self):
        a = self.ask("error-event=4")
        self.assertEqual((a.status, a.end, a.done()), (200, "complete", True))
        self.assertEqual(a.chunks_json()[-1]["error"]["code"], 500)
        self.assertIsNone(a.usage())
        a = self.ask("error-field=4")
        self.assertEqual((a.end, a.done()), ("complete", False))
        self.assertIn(b"\nerror: {", a.body)

    def test_ends_that_lie(self):
        a = self.ask("abort=4")
        self.assertEqual((a.finish(), a.usage()["completion_tokens"], a.done()), ("abort", 4, True))
        a = self.ask("fake-stop=4")
        self.assertEqual((a.finish(), a.usage()["completion_tokens"], a.done()), ("stop", 4, True))
        a = self.ask("no-done")
        self.assertEqual((a.finish(), a.done(), a.end), ("length", False, "complete"))
        a = self.ask("no-finish")
        self.assertEqual((a.finish(), a.done()), (None, True))

    def test_usage(self):
        self.assertIsNone(self.ask("no-usage").usage())
        a = self.ask("usage-in-finish", stream_options=None)
        self.assertEqual(a.chunks_json()[-1]["choices"][0]["finish_reason"], "length")
        self.assertEqual(a.chunks_json()[-1]["usage"]["completion_tokens"], 10)
        self.assertEqual(self.ask("usage-off=-4").usage()["completion_tokens"], 6)
        u = [c["usage"]["completion_tokens"] for c in self.ask("zero-usage").chunks_json()]
        self.assertEqual(u, [0] * 12 + [10])

    def test_truncate(self):
        long = [{"role": "user", "content": "word " * 500}]
        self.assertGreater(self.ask("every=1000000000", messages=long).usage()["prompt_tokens"], 500)
        self.assertEqual(self.ask("truncate=100", messages=long).usage()["prompt_tokens"], 100)

    def test_early_eos(self):
        n = [self.ask("early-eos", max_tokens=400, messages=[{"role": "user", "content": f"{i}"}]).usage()["completion_tokens"]
             for i in range(12)]
        self.assertLess(min(n), 400)

    def test_role(self):
        self.assertIsNone(self.ask("null-role").chunks_json()[0]["choices"][0]["delta"]["content"])
        self.assertNotIn("role", self.ask("no-role").chunks_json()[0]["choices"][0]["delta"])

    def test_empty_and_bundle(self):
        a = self.ask("empty=2")
        self.assertEqual(a.usage()["completion_tokens"], 10)
        self.assertLess(len(a.text().split()), 10)
        a = self.ask("bundle=6")
        n = [len(c["choices"][0]["delta"].get("content", "").split()) for c in a.chunks_json() if c["choices"]]
        self.assertEqual(n, [0, 6, 1, 1, 1, 1, 0])
        self.whole(a)

    def test_tool_call(self):
        a = self.ask("tool-call", ignore_eos=None, max_tokens=20000)
        d = [c["choices"][0]["delta"] for c in a.chunks_json() if c["choices"]]
        calls = [x["tool_calls"][0] for x in d if "tool_calls" in x]
        self.assertEqual(calls[0]["function"]["name"], "measure")
        self.assertEqual(len("".join(c["function"]["arguments"] for c in calls).split()), a.usage()["completion_tokens"])
        self.assertEqual((a.text(), a.finish()), ("", "tool_calls"))

    def test_lines(self):
        a = self.ask("crlf")
        self.assertEqual(a.body.count(b"\n"), a.body.count(b"\r\n"))
        self.whole(a)
        a = self.ask("cr")
        self.assertNotIn(b"\n", a.body)
        self.whole(a)
        a = self.ask("no-space")
        self.assertNotIn(b"data: ", a.body)
        self.whole(a)
        a = self.ask("trailing-space")
        self.assertIn(b"} \n\n", a.body)
        self.whole(a)
        a = self.ask("bom")
        self.assertTrue(a.body.startswith(b"\xef\xbb\xbfdata"))
        self.whole(a)
        a = self.ask("comments=2")
        self.assertGreaterEqual(a.body.count(b": keep-alive\n"), 6)
        self.whole(a)
        a = self.ask("named")
        self.assertIn(b"event: message\nid: 0\nretry: 1000\ndata: ", a.body)
        self.whole(a)
        a = self.ask("two-data,crlf")
        self.assertEqual(a.body.count(b"data: "), 2 * 13 + 1)
        self.whole(a)

    def test_huge(self):
        a = self.ask("huge=1048576")
        self.assertGreater(max(map(len, a.body.split(b"\n"))), 1048576)
        self.whole(a)

    def test_broken_events(self):
        a = self.ask("bad-json=4")
        broken = 0
        for e in a.events():
            try:
                json.loads(e)
            except ValueError:
                broken += e != "[DONE]"
        self.assertEqual(broken, 1)
        self.assertTrue(a.done())
        a = self.ask("bad-utf8=4")
        with self.assertRaises(UnicodeDecodeError):
            a.body.decode()
        self.assertTrue(a.done())

    def test_bytes(self):
        a = self.ask("split")
        self.whole(a)
        a = self.ask("split-chunks")
        self.assertEqual(a.chunks, len(a.body) + 1)
        self.whole(a)
        a = self.ask("split,split-chunks,crlf")
        self.whole(a)
        a = self.ask("merge=4")
        self.whole(a)

    def test_lengths(self):
        a = self.ask("long-length", stream=None, stream_options=None)
        self.assertEqual(a.end, "eof")
        self.assertEqual(int(a.headers["content-length"]), len(a.body) + 100)
        a = self.ask("short-length=20", stream=None, stream_options=None)
        self.assertRaises(ValueError, a.json)
        self.assertEqual(self.ask("long-length").end, "eof")
        self.assertEqual(self.ask("short-length=500").headers["content-length"], "500")
        a = self.ask("bad-chunk=4")
        self.assertEqual((a.end, len(a.text().split())), ("malformed", 4))

    def test_http10(self):
        a = self.ask("http10")
        self.assertEqual((a.version, a.status, a.end), ("HTTP/1.0", 200, "eof"))
        self.assertNotIn("transfer-encoding", a.headers)
        self.assertTrue(a.done())
        a = self.ask("http10", stream=None, stream_options=None)
        self.assertEqual(a.json()["usage"]["completion_tokens"], 10)

    def test_slow_headers_and_delay(self):
        t = time.monotonic()
        a = self.ask("slow-headers=300")
        self.assertGreaterEqual(time.monotonic() - t, 0.29)
        self.whole(a)
        t = time.monotonic()
        self.whole(self.ask("delay=300"))
        self.assertGreaterEqual(time.monotonic() - t, 0.29)


class ForAll(unittest.TestCase):
    def test_a_connection_that_closes_without_notice(self):
        with Engine("--max-answers", "3") as e, e.connect() as s:
            for _ in range(3):
                s.sendall(e.request("GET", "/health"))
                a = Answer(s)
                self.assertEqual((a.status, a.headers.get("connection")), (200, None))
            self.assertEqual(s.recv(1), b"")

    def test_every_nth(self):
        with Engine("--speed", "20", "--fault", "status=500,every=3") as e:
            self.assertEqual([e.chat().status for _ in range(7)], [200, 200, 500, 200, 200, 500, 200])

    def test_faults_are_in_the_truth(self):
        with Engine("--speed", "20", "--fault", "cut=4") as e:
            for _ in range(3):
                e.chat()
            t = e.stop()
        self.assertEqual(t["requests"]["error"], 3)
        self.assertEqual([r["told_tokens"] for r in t["request"]], [4, 4, 4])
        self.assertEqual(t["tokens"]["told"], 12)


if __name__ == "__main__":
    tap.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench --selfcheck: what must hold on any machine, however busy it is."""
import json
import os
import subprocess
import unittest

import patience
import tap

JOULEMARK = os.environ["JOULEMARK"]
KEYS = ["n", "events_per_s", "ttft_error_p50_ms", "ttft_error_p99_ms", "token_error_p50_ms", "token_error_p99_ms",
        "cpu_us_per_event", "rss_kib_per_stream", "verdict"]


def run(*args, **kw):
    return subprocess.run([JOULEMARK, "bench", *args], capture_output=True, text=True, timeout=180, **kw)


class Selfcheck(unittest.TestCase):
    def check(self, *more):
        """In 0.2 s; longer where the machine had other work meanwhile and the programs no turn."""
        lengths = iter((0.2, 1, 5))
        return patience.again(lambda: self.of(next(lengths), *more))

    def of(self, seconds, *more):
        p = run("--selfcheck", "--streams", "1,20", "-t", f"{seconds * 1000:.0f}ms", "--json", "-q", *more)
        self.assertEqual(p.returncode, 0, p.stderr)
        doc = json.loads(p.stdout)
        self.assertEqual([r["n"] for r in doc["streams"]], [1, 20])
        for r in doc["streams"]:
            for k in KEYS:
                self.assertIn(k, r)
                self.assertIsNotNone(r[k], k)
            self.assertGreater(r["events"], 0)
            self.assertGreater(r["events_per_s"], 0)
            self.assertEqual(r["failed"], 0)
            # The server writes its stamp down before it sends: no true stamp can be earlier. The wall clock, by
            # which the kernel stamps, is known to about a microsecond.
            self.assertGreater(r["token_error_p50_ms"], -0.001)
            self.assertGreaterEqual(r["token_error_p99_ms"], r["token_error_p50_ms"])
            # user space cannot have the bytes before the kernel has
            self.assertGreaterEqual(r["user_token_error_p50_ms"], r["token_error_p50_ms"])
            self.assertLessEqual(r["events_shared"], r["events"])
        # 20 streams with a token every 10 ms: never more than was planned, first tokens included
        self.assertLessEqual(doc["streams"][1]["events"], 20 * (100 * seconds + 1) * 2)
        return doc

    def test_plain(self):
        self.assertIs(self.check()["tls"], False)

    def test_tls(self):
        p = run("--selfcheck", "--tls", "--streams", "1", "-t", "100ms", "-q", "--json")
        if "https is not available" in p.stderr:
            self.skipTest("built without OpenSSL")
        self.assertIs(self.check("--tls")["tls"], True)

    def test_libcurl(self):
        """Its stamps are the kernel's too: what waits is looked at before libcurl reads."""
        p = run("--selfcheck", "--transport", "curl", "--streams", "1", "-t", "100ms", "-q", "--json")
        if "its module is not there" in p.stderr:
            self.skipTest("built without libcurl")
        doc = self.check("--transport", "curl")
        self.assertEqual(doc["transport"], "curl")
        for r in doc["streams"]:
            self.assertGreater(r["kernel_stamps"], 0.5)

    def test_text_fits_80_columns(self):
        p = run("--selfcheck", "--streams", "2", "-t", "100ms", "-q")
        self.assertEqual(p.returncode, 0, p.stderr)
        for line in p.stdout.splitlines():
            self.assertLessEqual(len(line), 80, line)
        self.assertIn("token error us", p.stdout)

    def test_too_few_files(self):
        p = run("--selfcheck", "--streams", "1,300", "-t", "100ms", "-q", "--json",
                preexec_fn=lambda: __import__("resource").setrlimit(__import__("resource").RLIMIT_NOFILE, (256, 256)))
        self.assertEqual(p.returncode, 4)
        few = json.loads(p.stdout)["streams"][1]
        self.assertEqual(few["verdict"], "failed")
        self.assertIsNone(few["events_per_s"])
        self.assertIn("limit of 256", few["error"])
        self.assertIn("ulimit -n 428", few["error"])

    def test_usage(self):
        for args in (["--selfcheck", "http://127.0.0.1:1"], ["--streams", "1", "http://127.0.0.1:1"], ["--tls"], [],
                     ["--selfcheck", "--streams", ""], ["--selfcheck", "--streams", "0"],
                     ["--selfcheck", "--streams", "1,,2"], ["--selfcheck", "--streams", "70000"]):
            p = run(*args)
            self.assertEqual(p.returncode, 2, args)
            self.assertEqual(p.stdout, "")


if __name__ == "__main__":
    tap.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""joulemark mlperf sut against a Director by script: one that goes away, says no, says nothing or lies, in each state."""
import os
import subprocess
import time

import power_server
import tap
from sutcase import JOULEMARK, Case


class DirectorFails(Case):
    """In each state the Director goes away, says no, or says nothing: a sentence, what is kept, an exit status, no hang."""

    STATES = ["mlcommons", "time", "new", "session,2026-01-30_10-00-00,start,ranging", "time#3", "time#4",
              "session,2026-01-30_10-00-00,stop,ranging", "session,2026-01-30_10-00-00,start,testing",
              "session,2026-01-30_10-00-00,stop,testing", "session,2026-01-30_10-00-00,done"]

    def fails(self, server, *more):
        r = self.sut(server, *more)
        self.assertEqual(r.returncode, 4, r.stderr)
        self.assertEqual(r.stdout, "")
        last = r.stderr.strip().splitlines()[-1]
        if any(s.startswith("new") for s in server.seen) and os.path.isdir(self.session()):
            self.assertIn(self.session(), last)
            self.assertFalse(self.client()["joulemark"]["complete"] and "done" not in server.seen[-1], last)
            self.assertTrue(os.path.getsize(os.path.join(self.session(), "power", "client.log")) > 0)
        else:
            self.assertIn("Nothing was measured", last)
        for top, _, files in os.walk(self.out):
            for f in files:
                self.assertFalse(f.endswith(".tmp"), os.path.join(top, f))
        return r

    def each(self, action, *more):
        for state in self.STATES:
            with self.subTest(state=state):
                self.tearDown()
                self.setUp()
                self.fails(self.server(trouble={state: action}), *more)

    def test_closes(self):
        self.each("close")

    def test_resets(self):
        self.each("reset")

    def test_says_error(self):
        self.each(b"Error: unknown session\r\n")

    def test_stalls(self):
        self.each("stall", "--reply-timeout", "400ms", "--start-timeout", "400ms")

    def test_line_without_end(self):
        for state in ("mlcommons", "new", "session,2026-01-30_10-00-00,stop,testing"):
            with self.subTest(state=state):
                self.tearDown()
                self.setUp()
                self.fails(self.server(trouble={state: "endless"}))

    def test_goes_away_while_the_workload_runs(self):
        server = self.server()
        p = subprocess.Popen(self.command(server, workload=f"echo $$ > {self.at}/pid; sleep 300"), stderr=subprocess.PIPE, text=True)
        while not os.path.exists(self.at + "/pid") or not os.path.getsize(self.at + "/pid"):
            time.sleep(0.01)
        server.close()
        _, err = p.communicate(timeout=240)
        self.assertEqual(p.returncode, 4)
        self.assertIn("while the workload was running", err)
        with open(self.at + "/pid", encoding="ascii") as f:
            pid = int(f.read())
        self.assertRaises(ProcessLookupError, os.kill, pid, 0)
        self.assertEqual(self.client()["joulemark"]["stage"], "ranging: workload")

    def test_nobody_listens(self):
        server = self.server()
        server.close()
        r = self.sut(server)
        self.assertEqual(r.returncode, 4)
        self.assertIn("127.0.0.1", r.stderr)

    def test_odd_replies_to_new(self):
        uuid = power_server.UUID
        for said in (f"OK ../../x,{uuid}", f"OK /tmp/x,{uuid}", f"OK .,{uuid}", f"OK ,{uuid}", "OK a", "OK", f"OK a b,{uuid}", "OK a,nonsense",
                     f"OK {'a' * 3000},{uuid}", f"OK a,{uuid},more", "\x00\xff", ""):
            with self.subTest(said=said):
                self.tearDown()
                self.setUp()
                r = self.sut(self.server(trouble={"new": said.encode("latin-1") + b"\r\n"}))
                self.assertEqual(r.returncode, 4, r.stderr)
                self.assertEqual(os.listdir(self.out), [])
                self.assertEqual(sorted(os.listdir(self.at)), ["out", "workload.sh"])

    def test_odd_replies_to_time(self):
        for said in (b"OK 1753687116.8", b"nan", b"inf", b"-1", b"", b"0x1p10", b"1e999", b"1753687116.8 "):
            with self.subTest(said=said):
                self.tearDown()
                self.setUp()
                r = self.sut(self.server(trouble={"time": said + b"\r\n"}))
                self.assertEqual(r.returncode, 4, r.stderr)

    def test_another_protocol(self):
        r = self.sut(self.server(trouble={"mlcommons": b"mlcommons/power server v2\r\n"}))
        self.assertEqual(r.returncode, 4)
        self.assertIn("server v2", r.stderr)


class Downloads(Case):
    FILE = "download,2026-01-30_10-00-00,run_1/spl.txt"

    def test_hostile_framing(self):
        for framing in (b"99999999999999999999\r\n", b"9223372036854775807\r\nabc", b"-5\r\nabc", b"+5\r\nhello0\r\n", b"5e3\r\nabc", b"0x10\r\nabc",
                        b" 5\r\nhello0\r\n", b"\r\n", b"nonsense\r\n", b"5\r\nhelloX\r\n", "endless", "reset", "close",
                        b"5368709120\r\n"):
            with self.subTest(framing=framing):
                for limit in ("500ms", "5s"):  # the first where this machine answers in time whatever else was asked
                    self.tearDown()
                    self.setUp()
                    server = self.server(trouble={self.FILE: framing, self.FILE + "#2": "close"})
                    r = self.sut(server, "--reply-timeout", limit)
                    if any(s.startswith(self.FILE) for s in server.seen):
                        break
                self.assertEqual(r.returncode, 4, r.stderr)
                self.assertIn("--fetch", r.stderr)
                self.assertFalse(os.path.exists(os.path.join(self.session(), "run_1", "spl.txt")))
                self.assertFalse([f for f in os.listdir(os.path.join(self.session(), "run_1")) if "spl" in f])
                self.assertNotIn("cleanup,2026-01-30_10-00-00", server.seen)  # the Director keeps what we lack

    def test_a_broken_download_is_tried_again(self):
        server = self.server(trouble={self.FILE: b"100\r\nonly this much", self.FILE + "#2": "close"})
        r = self.sut(server, "--reply-timeout", "1s")
        self.assertEqual(r.returncode, 4)
        server = self.server(trouble={self.FILE: "close"})
        self.tearDown()
        self.setUp()
        server = self.server(trouble={self.FILE: "close"})
        r = self.sut(server)
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertEqual(server.seen.count("mlcommons/power client v3"), 2)

    def test_fetch_brings_the_rest(self):
        server = self.server(trouble={self.FILE: "close", self.FILE + "#2": "close"})
        r = self.sut(server)
        self.assertEqual(r.returncode, 4)
        self.assertIn(f"--fetch {self.session()}", r.stderr)
        r = subprocess.run([JOULEMARK, "mlperf", "sut", "-a", "127.0.0.1", "-p", str(server.port), "--fetch", self.session()],
                           capture_output=True, text=True, timeout=240)
        self.assertEqual(r.returncode, 0, r.stderr)
        for f in power_server.FILES:
            with open(os.path.join(self.session(), f), "rb") as got:
                self.assertEqual(got.read(), server.files[f])
        self.assertEqual(sum(s.startswith("download") and s.endswith("ptd_logs.txt") for s in server.seen), 1)
        self.assertEqual(server.seen[-1], "cleanup,2026-01-30_10-00-00")

    def test_fetch_of_what_is_no_session(self):
        os.makedirs(os.path.join(self.at, "no", "power"))
        for text in ('{"session_name": "../x"}', "{}", "[", ""):
            with open(os.path.join(self.at, "no", "power", "client.json"), "w", encoding="ascii") as f:
                f.write(text)
            server = self.server()
            r = subprocess.run([JOULEMARK, "mlperf", "sut", "-a", "127.0.0.1", "-p", str(server.port), "--fetch", self.at + "/no"],
                               capture_output=True, text=True, timeout=240)
            self.assertEqual(r.returncode, 4, r.stderr)
            self.assertEqual(server.seen, [])

    def test_cleanup_refused_is_no_failure(self):
        r = self.sut(self.server(trouble={"cleanup": b"Error\r\n"}))
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertIn("keeps its copy", r.stderr)


if __name__ == "__main__":
    tap.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""joulemark bench and idle: what they refuse before anything is measured."""
import os
import shutil
import socket
import subprocess
import tempfile
import unittest

import tap

JOULEMARK = os.environ["JOULEMARK"]


class Refused(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="bench.")
        self.addCleanup(shutil.rmtree, self.dir)
        self.file = os.path.join(self.dir, "x.jmr")

    def fails(self, status, part, *args, **kw):
        r = subprocess.run([JOULEMARK, *args], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60,
                           env=dict(os.environ, **kw))
        self.assertEqual((r.returncode, r.stdout), (status, ""), r.stderr)
        self.assertIn(part, r.stderr)
        self.assertFalse(os.path.exists(self.file), "nothing was measured")

    def test_usage(self):
        self.fails(2, "too few arguments", "bench")
        self.fails(2, "no unit", "bench", "http://127.0.0.1:1", "-t", "30")
        self.fails(2, "outside 1 to 65536", "bench", "http://127.0.0.1:1", "-c", "0")
        self.fails(2, "outside 1 to 65536", "bench", "http://127.0.0.1:1", "-c", "65537")
        self.fails(2, "--slo-ttft", "bench", "http://127.0.0.1:1", "--slo-ttft", "0s")
        self.fails(2, "not a unit of rate", "bench", "http://127.0.0.1:1", "--rate", "4/d")
        self.fails(2, "NO_SUCH_KEY", "bench", "http://127.0.0.1:1", "-o", self.file, "--api-key-env", "NO_SUCH_KEY")
        self.fails(2, "deep", "idle", "http://127.0.0.1:1", "--class", "deep")

    def test_nobody_listens(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{s.getsockname()[1]}"
        for command in ("bench", "idle", "demo"):
            self.fails(4, url.split("//")[1], command, url, "-o", self.file)

    def test_urls_that_are_none(self):
        for url in ("ftp://127.0.0.1", "http://", "127.0.0.1:x", ""):
            r = subprocess.run([JOULEMARK, "bench", url, "-o", self.file], capture_output=True, text=True, timeout=60)
            self.assertIn(r.returncode, (2, 4), (url, r.stderr))
            self.assertTrue(r.stderr.startswith("joulemark bench: "), r.stderr)

    def test_missing_simulator(self):
        self.fails(4, "JM_SIM", "demo", "-q", "-o", self.file, JM_SIM="/nonexistent")

    def test_simulator_that_says_nothing_useful(self):
        for script in ("exit 0", "echo hello; sleep 5", "echo '{}'; sleep 5"):
            sim = os.path.join(self.dir, "sim")
            with open(sim, "w", encoding="ascii") as f:
                f.write(f"#!/bin/sh\n{script}\n")
            os.chmod(sim, 0o755)
            self.fails(4, "simulated node", "demo", "-q", "-o", self.file, JM_SIM=sim)


tap.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A session whose logs have more bytes than 32 bits count, in one line without an end: read in 64 MiB of memory. The
files are sparse: they take no space."""
import json
import os
import shutil
import subprocess
import tempfile
import unittest

import tap

DUMP = os.path.join(os.environ.get("JM_BUILD", "build"), "tests", "mlperf", "session_dump")
SIZE = (4 << 30) + 7


class Huge(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(dir=".")
        for d in ("power", "ranging", "run_1"):
            os.mkdir(os.path.join(self.dir, d))

    def tearDown(self):
        shutil.rmtree(self.dir)

    def sparse(self, rel, head, size):
        with open(os.path.join(self.dir, rel), "wb") as f:
            f.write(head)
            f.truncate(size)

    def test_memory(self):
        row = b"Time,07-28-2025 08:00:00.500,Watts,100.000000,Volts,230.000000,Amps,0.500000,PF,0.900000,Mark,m\n"
        self.sparse("run_1/spl.txt", row, SIZE)
        self.sparse("power/ptd_logs.txt", b"07-28-2025 08:00:00.000: WARNING: Missed 1 samples\n", 100 << 20)
        p = subprocess.run([DUMP, self.dir], capture_output=True, text=True, check=True)
        d = json.loads(p.stdout)
        self.assertEqual(d["bytes"], SIZE + (100 << 20))
        self.assertEqual(d["files"]["run_1/spl.txt"]["bytes"], SIZE)
        self.assertEqual(d["run_1"]["file"]["rows"], 1)
        self.assertEqual(d["run_1"]["broken"], 1)
        self.assertIn("longer than", d["run_1"]["first_broken"])
        self.assertEqual(len(d["ptd_log"]["events"]), 1)
        self.assertEqual(d["ptd_log"]["lines"], 2)
        if not os.environ.get("JM_SANITIZED"):
            self.assertLess(d["max_rss_kib"], 64 << 10)


if __name__ == "__main__":
    tap.main()

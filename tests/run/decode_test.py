#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The decoder of examples/, which shares no line with the program, reads the same out of a run file as export does."""
import csv
import importlib.util
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.environ["JM_SOURCE"], "tests", "support"))
import tap  # noqa: E402

SOURCE = os.environ["JM_SOURCE"]
WRITER = os.path.join(os.environ["JM_BUILD"], "tests", "run", "test-run-write_sample")
if not (shutil.which("zstd") and os.path.exists(WRITER)):
    sys.exit(77)
spec = importlib.util.spec_from_file_location("decode_run", os.path.join(SOURCE, "examples", "decode_run.py"))
decode = importlib.util.module_from_spec(spec)
spec.loader.exec_module(decode)


def table(folder, name):
    with open(os.path.join(folder, name + ".csv"), newline="", encoding="utf-8") as f:
        return list(csv.DictReader(f))


class Decoder(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.TemporaryDirectory()
        cls.file = os.path.join(cls.dir.name, "sample.jmr")
        cls.out = os.path.join(cls.dir.name, "csv")
        subprocess.run([WRITER, cls.file, cls.out], check=True)
        cls.db = sqlite3.connect(f"file:{cls.file}?mode=ro&immutable=1", uri=True)

    @classmethod
    def tearDownClass(cls):
        cls.db.close()
        cls.dir.cleanup()

    def test_readings(self):
        status = {"ok": 0, "gap": 8}
        for channel in range(3):
            mine, theirs = list(decode.readings(self.db, channel)), table(self.out, f"readings.{channel}")
            self.assertEqual(len(mine), 250)
            self.assertEqual(len(mine), len(theirs))
            for a, b in zip(mine, theirs):
                self.assertEqual((a[0], a[1], a[3], a[4]), (int(b["t0_ns"]), int(b["t1_ns"]), status[b["status"]], int(b["flags"])))
                if b["native"]:
                    self.assertEqual(a[2], int(b["native"]))
                elif b["value"]:
                    self.assertEqual(a[2], float(b["value"]))

    def test_shared_time_columns(self):
        shared = self.db.execute("SELECT count(*) FROM chunk WHERE times IS NOT NULL").fetchone()[0]
        self.assertGreater(shared, 0)
        chained = self.db.execute("SELECT count(*) FROM chunk a JOIN chunk b ON a.times=b.id WHERE b.times IS NOT NULL")
        self.assertGreater(chained.fetchone()[0], 0)

    def test_events(self):
        mine = sorted(decode.events(self.db))
        theirs = sorted((int(b["request"]), int(b["t_ns"]), int(b["tokens"]), int(b["flags"])) for b in table(self.out, "token_events"))
        self.assertGreater(len(mine), 900)
        self.assertEqual(mine, theirs)

    def test_requests(self):
        keys = [k for k in table(self.out, "requests")[0] if k.endswith("_ns")]
        self.assertEqual(len(keys), 15)
        mine = sorted(decode.requests(self.db))
        theirs = sorted((int(b["request"]), *(int(b[k]) if b[k] else None for k in keys)) for b in table(self.out, "requests"))
        self.assertEqual(len(mine), 40)
        self.assertEqual(mine, theirs)

    def test_any_tool_opens_it(self):
        done = subprocess.run([sys.executable, os.path.join(SOURCE, "examples", "decode_run.py"), self.file], check=True,
                              stdout=subprocess.PIPE, encoding="utf-8")
        self.assertIn("0 energy GPU-8932f937-d72c-4106-c12f-20bd9faed9f6 250 1000000000000", done.stdout)
        self.assertEqual(self.db.execute("PRAGMA application_id").fetchone()[0], 0x4A4D5231)
        self.assertEqual(self.db.execute("PRAGMA integrity_check").fetchone()[0], "ok")
        ends = dict(self.db.execute("SELECT end, count(*) FROM request GROUP BY end"))
        self.assertEqual(ends, {"ok": 35, "refused": 5})

    def test_the_page_names_every_table_and_column(self):
        with open(os.path.join(SOURCE, "docs", "run-file.md"), encoding="utf-8") as f:
            page = f.read()
        for (name,) in self.db.execute("SELECT name FROM sqlite_schema WHERE type='table'").fetchall():
            self.assertIn(f"### {name}\n", page)
            part = page.split(f"### {name}\n", 1)[1].split("\n### ", 1)[0].split("\n## ", 1)[0]
            for column in self.db.execute("SELECT name FROM pragma_table_info(?)", (name,)).fetchall():
                self.assertIn(f"`{column[0]}`", part, f"{name}.{column[0]}")


if __name__ == "__main__":
    tap.main()

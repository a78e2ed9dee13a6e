#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""import, show, report and recover from the command line, on a published MLPerf session."""
import csv
import io
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import unittest

import tap

JOULEMARK = os.environ["JOULEMARK"]
SESSION = "v4.1_NVIDIA_H200_llama2-70b-99_Server"


def run(*args, **kw):
    return subprocess.run([JOULEMARK, *args], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120,
                          env=dict(os.environ, **kw.pop("env", {})), **kw)


def unpack(into):
    ready = os.path.join(os.environ.get("JM_BUILD", "build"), "corpus", "mlperf", SESSION)
    if os.path.isdir(ready):
        return ready
    folder = tap.corpus()
    archive = folder and os.path.join(folder, "mlperf.tar.zst")
    if not archive or not os.path.exists(archive) or not shutil.which("zstd"):
        return None
    data = subprocess.run(["zstd", "-dcq", archive], capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        tar.extractall(into, [m for m in tar.getmembers() if f"/{SESSION}/" in f"/{m.name}/"])
    for path, _, _ in os.walk(into):
        if os.path.basename(path) == SESSION:
            return path
    return None


class Session(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.mkdtemp(prefix="show_test.")
        cls.file = os.path.join(cls.dir, "made", "h200.jmr")
        cls.imported = run("import", SOURCE, "-o", cls.file, "--label", "H200 server")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.dir)

    def test_import_prints_the_run(self):
        self.assertEqual((self.imported.returncode, self.imported.stderr), (0, ""))
        self.assertEqual(self.imported.stdout, self.file + "\n")

    def test_import_does_not_overwrite(self):
        again = run("import", SOURCE, "-o", self.file)
        self.assertNotEqual(again.returncode, 0)
        self.assertIn(self.file, again.stderr)
        other = os.path.join(self.dir, "other.jmr")
        self.assertEqual(run("import", SOURCE, "-o", other).returncode, 0)
        answer = json.loads(run("import", SOURCE, "-o", other, "--force", "--json").stdout)
        self.assertEqual((answer["schema"], answer["importer"], answer["run"]), ("joulemark.import/1", "mlperf", other))

    def test_published_figures(self):
        r = run("show", self.file, "--json")
        self.assertEqual((r.returncode, r.stderr), (0, ""))
        doc = json.loads(r.stdout)
        self.assertEqual((doc["schema"], doc["validity"]["profile"]), ("joulemark.show/1", "mlperf"))
        self.assertNotEqual(doc["validity"]["status"], "invalid")
        by = {x["metric"]: x for x in doc["results"] if x.get("boundary") == "wall"}
        self.assertAlmostEqual(by["power.mean.mlperf"]["value"], 6280.214, places=3)
        self.assertAlmostEqual(by["j_per.output_token"]["value"], 0.2717, places=4)
        self.assertEqual(r.stdout, run("show", self.file, "--json").stdout, "the same digits again")

    def test_formats(self):
        text = run("show", self.file)
        self.assertEqual(text.returncode, 0)
        for line in text.stdout.splitlines():
            if not max(line.split(), key=len, default="").startswith("/"):  # a path is never broken
                self.assertLessEqual(len(line), 80, line)
        self.assertNotIn("\033", text.stdout)
        self.assertIn("\033", run("show", self.file, "--color", "always").stdout)
        rows = list(csv.reader(io.StringIO(run("show", self.file, "--format", "csv").stdout)))
        self.assertEqual(len({len(r) for r in rows}), 1, "every row has the same number of fields")
        self.assertIn("|", run("show", self.file, "-f", "markdown").stdout)
        bad = run("show", self.file, "--format", "xml")
        self.assertEqual((bad.returncode, bad.stdout), (2, ""))
        self.assertIn("text, json", bad.stderr)

    def test_output_file(self):
        path = os.path.join(self.dir, "deep", "er", "x.json")
        r = run("show", self.file, "--json", "-o", path)
        self.assertEqual((r.returncode, r.stdout), (0, ""))
        with open(path, encoding="utf-8") as f:
            self.assertEqual(json.load(f)["run"]["label"], "H200 server")

    def test_profile_decides_validity_and_status(self):
        r = run("show", self.file, "--json", "--profile", "publication")
        doc = json.loads(r.stdout)
        self.assertEqual(doc["validity"]["profile"], "publication")
        self.assertEqual(r.returncode, 3 if doc["validity"]["status"] == "invalid" else 0)

    def test_report(self):
        r = run("report", self.file)
        html = os.path.join(self.dir, "made", "h200.html")
        self.assertEqual((r.returncode, r.stdout), (0, html + "\n"))
        with open(html, encoding="utf-8") as f:
            page = f.read()
        self.assertTrue(page.lower().startswith("<!doctype html>"))
        self.assertIn("0.2717", page)

    @unittest.skipUnless(os.path.exists("/dev/full"), "no /dev/full")
    def test_full_output(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            r = subprocess.run([JOULEMARK, "show", self.file], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(r.returncode, 4)
        self.assertEqual(run("show", self.file, "-o", "/dev/full").returncode, 4)
        self.assertEqual(run("report", self.file, "-o", "/dev/full").returncode, 4)

    def test_recover_leaves_a_sealed_run_alone(self):
        with open(self.file, "rb") as f:
            before = f.read()
        r = run("recover", self.file)
        self.assertEqual(r.returncode, 0)
        self.assertIn("sealed already", r.stdout)
        with open(self.file, "rb") as f:
            self.assertEqual(f.read(), before)

    def test_files_that_are_no_run(self):
        cases = {"empty": b"", "text": b"not a run file\n", "cut": b"", "sqlite": b""}
        with open(self.file, "rb") as f:
            cases["cut"] = f.read(5000)
        for name, data in cases.items():
            path = os.path.join(self.dir, name)
            if name == "sqlite":
                sqlite3.connect(path).execute("create table t (x)").connection.close()
            else:
                with open(path, "wb") as f:
                    f.write(data)
            for command in ("show", "report", "recover"):
                with self.subTest(name, command=command):
                    r = run(command, path)
                    self.assertEqual((r.returncode, r.stdout), (4, ""), r.stderr)
                    self.assertIn(path, r.stderr)
        self.assertEqual(run("show", os.path.join(self.dir, "nothing")).returncode, 4)

    def test_run_of_a_newer_version(self):
        path = os.path.join(self.dir, "newer.jmr")
        shutil.copy(self.file, path)
        db = sqlite3.connect(path)
        db.execute("pragma user_version = 99")
        db.close()
        r = run("show", path)
        self.assertEqual(r.returncode, 4)
        self.assertIn("newer", r.stderr)


class Import(unittest.TestCase):
    def test_what_cannot_be_imported(self):
        with tempfile.TemporaryDirectory() as d:
            for args in ([d], [os.path.join(d, "nothing")]):
                r = run("import", *args, "-o", os.path.join(d, "x.jmr"))
                self.assertIn(r.returncode, (2, 4), r.stderr)
                self.assertTrue(r.stderr.startswith("joulemark import: "))
                self.assertFalse(os.path.exists(os.path.join(d, "x.jmr")))
            r = run("import", d, "--from", "nothing")
            self.assertEqual(r.returncode, 2)
        self.assertEqual(run("import").returncode, 2)

    def test_list(self):
        self.assertRegex(run("import", "--list").stdout, r"(?m)^mlperf ")


with tempfile.TemporaryDirectory() as scratch:
    SOURCE = unpack(scratch)
    if not SOURCE:
        print("the public data are not here (make corpus)")
        sys.exit(77)
    tap.main()

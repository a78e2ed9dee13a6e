#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""joulemark run and record: statuses, signals, streams, marks, with and without meters."""
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
import unittest

import edges
import patience
import tap

JOULEMARK = os.environ["JOULEMARK"]
NOTHING = ["--sysfs-root", "/nonexistent", "--dev-root", "/nonexistent", "--nvml-lib", "/nonexistent/libnvidia-ml.so.1"]


class Base(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="run_test.")
        self.addCleanup(shutil.rmtree, self.dir)
        self.file = os.path.join(self.dir, "x.jmr")

    def joulemark(self, *args, gpus=None, **kw):
        command = [JOULEMARK, *args]
        if gpus:
            command = [JOULEMARK, "sim", "gpu", *gpus, "--", *command]
        kw.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.run(command, capture_output=True, text=True, timeout=120, **kw)

    def bare(self, *args, **kw):
        """A run without any meter."""
        return self.joulemark("run", "-q", "-o", self.file, "--force", *NOTHING, *args, **kw)

    def rows(self, sql):
        db = sqlite3.connect(self.file)
        try:
            return db.execute(sql).fetchall()
        finally:
            db.close()


class Status(Base):
    def test_status_is_the_commands(self):
        for script, want in (("exit 0", 0), ("exit 1", 1), ("exit 77", 77), ("kill -KILL $$", 137), ("kill -SEGV $$", 139)):
            with self.subTest(script):
                self.assertEqual(self.bare("--", "sh", "-c", script).returncode, want)

    def test_commands_that_cannot_run(self):
        r = self.bare("--", "no-such-command-here")
        self.assertEqual(r.returncode, 127)
        self.assertIn("cannot run no-such-command-here", r.stderr)
        self.assertEqual(self.bare("--", "/").returncode, 126)

    def test_strict_only_speaks_when_the_command_succeeded(self):
        self.assertEqual(self.bare("--strict", "--", "true").returncode, 3)
        self.assertEqual(self.bare("--strict", "--", "sh", "-c", "exit 9").returncode, 9)

    def test_own_failure_is_125(self):
        r = self.joulemark("run", "-o", "/proc/nowhere/x.jmr", *NOTHING, "--", "true")
        self.assertEqual(r.returncode, 125)
        self.assertIn("/proc/nowhere", r.stderr)

    def test_usage(self):
        for args in (["run"], ["run", "--"], ["run", "true"], ["run", "--nothing", "--", "true"]):
            r = self.joulemark(*args)
            self.assertEqual((r.returncode, r.stdout), (2, ""), r.stderr)
        self.assertIn("-- CMD", self.joulemark("run", "true").stderr)

    def test_existing_run_is_kept(self):
        with open(self.file, "w", encoding="ascii") as f:
            f.write("mine")
        r = self.joulemark("run", "-o", self.file, *NOTHING, "--", "true")
        self.assertEqual(r.returncode, 125)
        with open(self.file, encoding="ascii") as f:
            self.assertEqual(f.read(), "mine")


class Streams(Base):
    def test_child_has_the_streams(self):
        r = self.bare("--", "sh", "-c", "cat; echo err >&2; [ $# = 2 ] && echo \"$1|$2\"", "sh", "a b", "-x",
                      stdin=None, input="in\n")
        self.assertEqual(r.stdout, "in\na b|-x\n")
        self.assertIn("err\n", r.stderr)

    def test_summary_goes_where_it_is_sent(self):
        path = os.path.join(self.dir, "s.json")
        r = self.bare("--json", "--summary", path, "--", "echo", "hello")
        self.assertEqual(r.stdout, "hello\n")
        with open(path, encoding="utf-8") as f:
            self.assertEqual(json.load(f)["schema"], "joulemark.show/1")
        r = self.bare("--json", "--summary", "-", "--", "true")
        self.assertEqual(json.loads(r.stdout)["schema"], "joulemark.show/1")
        self.assertEqual(self.bare("--no-summary", "--", "true").stdout, "")

    def test_environment(self):
        r = self.bare("--", "sh", "-c", "test -S \"$JOULEMARK_MARK_SOCKET\" && echo there")
        self.assertEqual(r.stdout, "there\n")
        r = self.bare("--", "sh", "-c", "echo \"$JOULEMARK_MARK_SOCKET\"")
        self.assertFalse(os.path.exists(os.path.dirname(r.stdout.strip())), "the socket's folder is gone afterwards")


class Signals(Base):
    def forwarded(self, sig, script):
        child = subprocess.Popen([JOULEMARK, "run", "-q", "-o", self.file, "--force", *NOTHING, "--", "sh", "-c",
                                  script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(child.stdout.readline(), "ready\n")
        os.kill(child.pid, sig)
        child.communicate(timeout=120)
        return child.returncode

    def test_forwarded(self):
        for sig in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):
            name = sig.name[3:]
            with self.subTest(name):
                self.assertEqual(self.forwarded(sig, f"trap 'exit 33' {name}; echo ready; while :; do sleep 0.02; done"), 33)
                self.assertEqual(self.forwarded(sig, "echo ready; while :; do sleep 0.02; done"), 128 + sig)
                self.assertEqual(self.rows("pragma journal_mode"), [("delete",)], "the run is sealed")


class Content(Base):
    def test_without_meters_the_file_says_what_was_tried(self):
        r = self.joulemark("run", "-o", self.file, *NOTHING, "--", "true")
        self.assertEqual(r.returncode, 0)
        self.assertIn("no meter can be read", r.stderr)
        shown = self.joulemark("show", self.file, "--json")
        self.assertEqual(shown.returncode, 3)
        self.assertEqual(json.loads(shown.stdout)["validity"]["status"], "invalid")

    def test_marks(self):
        r = self.bare("--", "sh", "-c", f"'{JOULEMARK}' mark one && '{JOULEMARK}' mark 'two words'")
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertEqual([x[0] for x in self.rows("select name from mark order by t")], ["one", "two words"])

    def test_command_is_noted(self):
        self.bare("--", "sh", "-c", "true", "it's")
        env = dict(self.rows("select key, value from env"))
        self.assertEqual(env["run.command"], "sh -c true 'it'\\''s'")
        self.assertEqual(env["child.status"], "0")

    def test_energy_of_simulated_gpus(self):
        truth = os.path.join(self.dir, "truth.json")
        r = self.joulemark("run", "-o", self.file, "--summary", os.path.join(self.dir, "s"), "--json", "-m", "nvml", "--",
                           "sleep", "2", gpus=["--gpus", "2", "--waveform", "const:500W", "--truth", truth])
        self.assertEqual(r.returncode, 0, r.stderr)
        with open(os.path.join(self.dir, "s"), encoding="utf-8") as f:
            doc = json.load(f)
        power = [x for x in doc["results"] if x["metric"] == "power.mean" and x["boundary"] == "gpu"]
        self.assertEqual(len(power), 1)
        # power is flat: only the moments at which the counters moved can be mistaken, by as much as the readings tell
        raw = edges.export(JOULEMARK, self.file)
        w, = (w for w in raw["windows"] if w["role"] == "measure")
        boards = edges.readings(raw, "nvml", "energy")
        self.assertEqual(len(boards), 2)
        allowed = sum(edges.Edges(rows, w["t0_ns"], w["t1_ns"], 100_000_000).joules(0, 500) for rows in boards)
        self.assertAlmostEqual(power[0]["value"], 1000, delta=2 + allowed / ((w["t1_ns"] - w["t0_ns"]) / 1e9))
        self.assertEqual(power[0]["provenance"], "simulated")
        self.assertEqual((power[0]["of"], power[0]["have"]), (2, 2))


class Record(Base):
    def test_until_stopped(self):
        child = subprocess.Popen([JOULEMARK, "record", "-o", self.file, *NOTHING], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True)
        line = child.stderr.readline()
        while "--socket" not in line:
            line = child.stderr.readline()
        path = line.split("--socket ")[1].split()[0]
        patience.until(lambda: os.path.exists(path))
        self.assertEqual(subprocess.run([JOULEMARK, "mark", "--socket", path, "here"]).returncode, 0)
        time.sleep(0.2)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=120)
        self.assertEqual(child.returncode, 3, err)  # no meter
        self.assertIn(self.file, out)
        self.assertEqual(self.rows("select name from mark"), [("here",)])
        self.assertFalse(os.path.exists(path))

    def test_for_a_time(self):
        patience.again(self.for_a_time)

    def for_a_time(self):
        r = self.joulemark("record", "-t", "1500ms", "--force", "-o", self.file, "--json", "-q", "-m", "nvml",
                           gpus=["--gpus", "1", "--waveform", "const:300W"])
        self.assertEqual(r.returncode, 3, r.stderr)  # far shorter than any profile asks
        doc = json.loads(r.stdout)
        self.assertAlmostEqual(doc["windows"][0]["seconds"], 1.5, delta=0.6)

    def test_killed_and_recovered(self):
        child = subprocess.Popen([JOULEMARK, "record", "-q", "-o", self.file, *NOTHING], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True)
        patience.begun(child, self.file)
        child.kill()
        child.communicate()
        r = self.joulemark("recover", self.file)
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertIn("recovered", r.stdout)
        doc = json.loads(self.joulemark("show", self.file, "--json").stdout)
        self.assertTrue(doc["run"]["cut"])


tap.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs that end before their time: signals in every phase, kill -9, a full disk, clocks that jump. What was recorded
is never lost, and says how it ended."""
import json
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
import unittest

import patience
import simnode
import tap

JOULEMARK = os.environ["JOULEMARK"]
NOTHING = ["--sysfs-root", "/nonexistent", "--dev-root", "/nonexistent", "--nvml-lib", "/nonexistent/libnvidia-ml.so.1"]
LOAD = ["-c", "8", "--isl", "32", "--osl", "32", "--ignore-eos"]


class Base(simnode.NodeCase):
    NODE = ("--gpus", "2", "--engine", "8b-h100")

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="cut_test.")
        self.addCleanup(shutil.rmtree, self.dir)
        self.file = os.path.join(self.dir, "x.jmr")

    def start(self, *args, **kw):
        child = subprocess.Popen([JOULEMARK, *args, "-o", kw.pop("file", self.file), "-m", "nvml"],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.env, **kw)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        return child

    def joulemark(self, *args, **kw):
        return subprocess.run([JOULEMARK, *args], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=180,
                              env=self.env, **kw)

    def show(self):
        r = self.joulemark("show", "--json", "--all", self.file)
        self.assertIn(r.returncode, (0, 3), r.stderr)
        return json.loads(r.stdout)

    def rows(self, sql, file=None):
        db = sqlite3.connect(file or self.file)
        try:
            return db.execute(sql).fetchall()
        finally:
            db.close()


class Signals(Base):
    BENCH = ["--idle", "3s", "-w", "3s", "-t", "60s", "--drain", "20s"]

    def timed(self, sig, seconds):
        """After so many seconds, whatever is done then; None: when the load goes on for a while."""
        child = self.start("bench", self.where["url"], *LOAD, *self.BENCH, "--json", "-q")
        if seconds is None:
            self.await_load(child)
        time.sleep(seconds or 5)  # the warm-up of 3 s is over
        child.send_signal(sig)
        out, err = child.communicate(timeout=180)
        return child.returncode, out, err

    def test_bench_in_every_phase(self):
        for sig in (signal.SIGINT, signal.SIGTERM):
            for seconds in (0.05, 0.4, 1.5, 4, None):
                with self.subTest(sig=sig.name, seconds=seconds):
                    for name in os.listdir(self.dir):
                        os.unlink(os.path.join(self.dir, name))
                    status, out, err = self.timed(sig, seconds)
                    self.assertIn(status, (0, 3, 4, -sig), err)  # -sig: before it was caught
                    if not os.path.exists(self.file):
                        self.assertIsNotNone(seconds, "something was measured")
                        continue
                    self.assertEqual(self.rows("select state from run"), [("sealed",)])
                    self.assertEqual(os.listdir(self.dir), ["x.jmr"], "no journal is left")
                    doc = self.show()
                    roles = [w["role"] for w in doc["windows"]]
                    self.assertEqual(roles, ["idle", "warm-up", "measure", "drain"][:len(roles)] if "drain" not in roles
                                     else [r for r in ("idle", "warm-up", "measure") if r in roles] + ["drain"])
                    if "measure" in roles:
                        json.loads(out)
                    if seconds is None:
                        self.assertIn("measure", roles)
                        self.assertGreater(self.rows("select count(*) from request where end = 'ok'")[0][0], 0)

    def test_record_and_idle(self):
        for args in (["record"], ["idle", "--settle", "0s", "-t", "60s"], ["idle", "--settle", "30s", "-t", "60s"]):
            for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                with self.subTest(args=args, sig=sig.name):
                    child = self.start(*args, "--force", "-q", "--json")
                    time.sleep(1.5)
                    child.send_signal(sig)
                    _, err = child.communicate(timeout=120)
                    # -sig: before it was caught, and before there was a file
                    self.assertIn(child.returncode, (0, 3, 4) if os.path.exists(self.file) else (0, 3, 4, -sig), err)
                    if os.path.exists(self.file):
                        self.assertEqual(self.rows("select state from run"), [("sealed",)])
                        self.show()

    def test_second_signal_does_not_wait(self):
        child = self.start("record", "-q")
        patience.begun(child, self.file)
        time.sleep(1)
        child.send_signal(signal.SIGINT)
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=120)
        self.assertIn(child.returncode, (0, 3, -signal.SIGINT))
        self.joulemark("recover", self.file)
        self.show()

    def test_nohup(self):
        child = self.start("record", "-q", "-t", "2s", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        time.sleep(0.5)
        child.send_signal(signal.SIGHUP)
        child.communicate(timeout=120)
        self.assertGreater(self.show()["windows"][0]["seconds"], 1.9, "nohup stays nohup")

    def test_stopped_and_continued(self):
        """SIGSTOP is what a suspend is for the recorder alone: a gap, and the counters bridge it."""
        child = self.start("record", "-q", "-t", "8s", "--json")
        time.sleep(3)
        child.send_signal(signal.SIGSTOP)
        time.sleep(2)
        child.send_signal(signal.SIGCONT)
        out, err = child.communicate(timeout=180)
        self.assertIn(child.returncode, (0, 3), err)
        energy = [x for x in json.loads(out)["results"] if x["metric"] == "energy" and x["boundary"] == "gpu"]
        self.assertEqual(energy[0]["have"], 2)


class Killed(Base):
    def killed(self, seconds, *args):
        child = self.start(*args, "-q")
        patience.begun(child, self.file)
        if args[0] == "bench":
            self.await_load(child)
        time.sleep(seconds)
        child.kill()
        self.ended = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        child.communicate()
        # readable as it is, and it says so
        before = self.show()
        self.assertIn("run.open", [f["id"] for f in before["validity"]["findings"]])
        self.assertNotEqual(before["validity"]["status"], "valid")
        text = self.joulemark("show", self.file).stdout
        self.assertIn("recover", text)
        r = self.joulemark("recover", self.file)
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertEqual(os.listdir(self.dir), ["x.jmr"])
        after = self.show()
        self.assertTrue(after["run"]["cut"])
        self.assertIn("run.cut", [f["id"] for f in after["validity"]["findings"]])
        self.assertEqual(self.joulemark("recover", self.file).returncode, 0, "again is no harm")
        return after

    def test_record(self):
        began = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        self.killed(14, "record")
        last = self.rows("select max(t_last) from chunk")[0][0]
        self.assertGreater(last, began)
        self.assertLess((self.ended - last) / 1e9, 12, "at most the last 10 s are lost")

    def test_bench(self):
        doc = self.killed(14, "bench", self.where["url"], *LOAD, "--idle", "1s", "-w", "1s", "-t", "60s")
        self.assertGreater(self.rows("select count(*) from request")[0][0], 0)
        self.assertGreater(doc["requests"]["ok"] + len(doc["windows"]), 0)

    def test_run(self):
        """The command outlives a recorder that is killed; its run can be recovered."""
        mark = os.path.join(self.dir, "mark")
        child = subprocess.Popen([JOULEMARK, "run", "-q", "-o", self.file, "-m", "nvml", "--", "sh", "-c",
                                  f"echo on > '{mark}.on'; sleep 3; echo done > '{mark}'"], env=self.env)
        patience.until(lambda: os.path.exists(mark + ".on"))
        child.kill()
        child.wait()
        self.assertEqual(self.joulemark("recover", self.file).returncode, 0)
        self.assertTrue(self.show()["run"]["cut"])
        patience.until(lambda: os.path.exists(mark))

    def test_at_once(self):
        """Killed at any moment of its first second: either no file, or one that show or recover can speak about."""
        for k in range(12):
            path = os.path.join(self.dir, f"{k}.jmr")
            child = self.start("record", "-q", file=path)
            time.sleep(0.01 + 0.04 * k)
            child.kill()
            child.communicate()
            if os.path.exists(path):
                for command in ("show", "recover", "show"):
                    r = self.joulemark(command, path)
                    self.assertIn(r.returncode, (0, 3, 4), r.stderr)
                    if r.returncode == 4:
                        self.assertTrue(r.stderr.startswith("joulemark"), r.stderr)


class Full(Base):
    """The file cannot grow any more: what is in it stays and can be read, and the status is 4."""

    def check(self, status, err):
        self.assertEqual(status, 4, err)
        self.assertRegex(err, "no space left|may not grow")
        r = self.joulemark("show", "--json", self.file)
        self.assertIn(r.returncode, (0, 3, 4), r.stderr)  # 0: what was recorded is long enough
        if r.returncode != 4:
            self.assertIn("run.open", [f["id"] for f in json.loads(r.stdout)["validity"]["findings"]])

    def test_limit_of_a_file(self):
        for kib in (4, 64, 200):
            with self.subTest(kib):
                child = self.start("bench", self.where["url"], *LOAD, "--idle", "0s", "-w", "0s", "-t", "15s", "--keep-text",
                                   "--force", "-q", "--sample-rate", "1 kHz",
                                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (kib << 10, kib << 10)))
                _, err = child.communicate(timeout=180)
                self.check(child.returncode, err)

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("unshare"), "needs root and unshare")
    def test_file_system(self):
        """A tmpfs of 4 MiB; the file is copied out of its namespace at the end."""
        small = os.path.join(self.dir, "small")
        os.mkdir(small)
        script = (f"mount -t tmpfs -o size=4m none '{small}' || exit 99; '{JOULEMARK}' \"$@\" -o '{small}/x.jmr'; s=$?; "
                  f"cp '{small}'/x.jmr* '{self.dir}'; exit $s")
        child = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", "bench", self.where["url"], *LOAD, "-c", "64", "--idle", "0s",
                                "-w", "0s", "-t", "25s", "--keep-text", "-q", "--sample-rate", "1 kHz", "-m", "nvml"],
                               capture_output=True, text=True, timeout=300, env=self.env)
        if child.returncode == 99:
            self.skipTest("no mount namespace")
        self.check(child.returncode, child.stderr)


class Clocks(Base):
    """A run whose clock pairs tell of a suspend or a step, as the recorder would have written them."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.folder = tempfile.mkdtemp(prefix="cut_test.")
        cls.whole = os.path.join(cls.folder, "x.jmr")
        subprocess.run([JOULEMARK, "record", "-t", "6s", "-q", "-o", cls.whole, "-m", "nvml"], env=cls.env, stdin=subprocess.DEVNULL,
                       capture_output=True, timeout=120, check=False)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)
        super().tearDownClass()

    def doctored(self, sql):
        shutil.copy(self.whole, self.file)
        db = sqlite3.connect(self.file)
        db.execute(sql)
        db.commit()
        db.close()
        return self.show()

    def test_suspend(self):
        """CLOCK_BOOTTIME counts sleep, CLOCK_MONOTONIC does not."""
        doc = self.doctored("update clock_pair set boot = boot + 30000000000, real = real + 30000000000 where id > "
                            "(select avg(id) from clock_pair)")
        f = [f for f in doc["validity"]["findings"] if "suspend" in f["text"] or "slept" in f["text"]]
        self.assertTrue(f, doc["validity"]["findings"])
        self.assertEqual(doc["validity"]["status"], "invalid")

    def test_step(self):
        doc = self.doctored("update clock_pair set real = real - 3600000000000 where id > (select avg(id) from clock_pair)")
        f = [f for f in doc["validity"]["findings"] if f["id"].startswith("clock.")]
        self.assertTrue(f, doc["validity"]["findings"])
        # energy and tokens come from CLOCK_MONOTONIC: a step of the wall clock makes none of them wrong
        energy = [x for x in doc["results"] if x["metric"] == "energy" and x["boundary"] == "gpu"]
        self.assertIsNotNone(energy[0]["value"])

    def test_clock_that_stands_still(self):
        doc = self.doctored("update clock_pair set mono0 = (select min(mono0) from clock_pair), mono1 = (select min(mono1) "
                            "from clock_pair), real = (select min(real) from clock_pair), boot = (select min(boot) from "
                            "clock_pair)")
        self.assertIn(doc["validity"]["status"], ("invalid", "findings", "valid"))  # no crash, no hang

    def test_no_pairs(self):
        self.doctored("delete from clock_pair")


tap.main()

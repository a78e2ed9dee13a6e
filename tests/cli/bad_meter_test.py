#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Meters that are not there, may not be read, die, lie or wrap while a run is recorded: the run says so beside every
number, ends with the right status, and keeps what was read."""
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import edges
import patience
import tap

JOULEMARK = os.environ["JOULEMARK"]
NOTHING = ["--sysfs-root", "/nonexistent", "--dev-root", "/nonexistent", "--nvml-lib", "/nonexistent/libnvidia-ml.so.1"]


class Base(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="bad_meter_test.")
        os.chmod(self.dir, 0o755)
        self.addCleanup(shutil.rmtree, self.dir)
        self.file = os.path.join(self.dir, "x.jmr")

    def joulemark(self, *args, under=(), **kw):
        kw.setdefault("timeout", 180)
        return subprocess.run([*under, JOULEMARK, *args], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              cwd=self.dir, **kw)

    def record(self, seconds, *args, **kw):
        r = self.joulemark("record", "-t", f"{seconds}s", "-o", self.file, "--force", "--json", "-q", *args, **kw)
        return r, json.loads(r.stdout)

    def finding(self, doc, ident):
        for f in doc["validity"]["findings"]:
            if f["id"] == ident:
                return f
        self.fail(f"no finding {ident} in {[f['id'] for f in doc['validity']['findings']]}")

    def energy(self, doc, boundary="gpu"):
        found = [x for x in doc["results"] if x["metric"] == "energy" and x["boundary"] == boundary]
        self.assertEqual(len(found), 1)
        return found[0]


class Gpus(Base):
    def faulty(self, *faults, seconds=5.5, gpus=4, waveform="const:400W", args=(), options=()):
        """What goes wrong so many seconds after the GPUs began is inside of the window; a machine that had not opened it by then is
        given more time."""
        first = [float(t) for f in faults for t in re.findall(r"at=([\d.]+)s", f)]
        for slower in (1, 3, 9):
            under = [JOULEMARK, "sim", "gpu", "--gpus", str(gpus), "--waveform", waveform, *options]
            for f in faults:
                under += ["--fault", re.sub(r"at=([\d.]+)s", lambda m: f"at={float(m[1]) * slower:g}s", f)]
            began = time.monotonic_ns()
            made = self.record(seconds + (slower - 1) * max(first, default=0), "-m", "nvml", *args, under=[*under, "--"])
            windows = edges.export(JOULEMARK, self.file)["windows"] if first else []
            if not windows or windows[0]["t0_ns"] < began + slower * min(first) * 1e9:
                break
        return made

    def flat(self, x, doc, watts):
        """4 GPUs that draw this at all times: what can be mistaken is the moments at which their counters moved."""
        raw = edges.export(JOULEMARK, self.file)
        w = raw["windows"][0]
        seen = [edges.Edges(rows, w["t0_ns"], w["t1_ns"], 100_000_000) for rows in edges.readings(raw, "nvml", "energy")]
        self.assertAlmostEqual(x["value"], 4 * watts * doc["windows"][0]["seconds"], delta=60 + sum(e.joules(0, watts) for e in seen))

    def test_a_gpu_that_dies(self):
        r, doc = self.faulty("kind=lost,gpu=2,at=3s")
        self.assertEqual(r.returncode, 3)
        self.assertEqual(doc["validity"]["status"], "invalid")
        self.assertIn("GPU 2", self.finding(doc, "counter.lost")["text"])
        x = self.energy(doc)
        self.assertEqual((x["have"], x["of"], x["validity"]["status"]), (3, 4, "invalid"))
        self.assertIn("3 of 4", x["validity"]["reasons"])
        text = self.joulemark("show", self.file).stdout
        self.assertIn("3 of 4", text)
        self.assertIn("INVALID", text)
        for form in ("markdown", "csv"):
            self.assertIn("3 of 4", self.joulemark("show", "-f", form, self.file).stdout)

    def test_readings_that_are_forbidden_from_some_time_on(self):
        r, doc = self.faulty("kind=no_permission,at=3s")
        self.assertEqual(r.returncode, 3)
        self.assertEqual(doc["validity"]["status"], "invalid")
        x = self.energy(doc)
        self.assertIsNone(x["value"], "missing is never 0")
        self.assertIn("denied", x["validity"]["reasons"])

    def test_a_gpu_without_power(self):
        r, doc = self.faulty("kind=not_supported,gpu=0")
        self.assertEqual(r.returncode, 3)
        x = self.energy(doc)
        self.assertEqual((x["have"], x["of"]), (3, 4))
        self.assertIn("3 of 4", self.finding(doc, "boundary.partial")["text"])

    def test_counter_reset(self):
        r, doc = self.faulty("kind=reset,gpu=1,at=3s")
        self.assertEqual(r.returncode, 3)
        f = self.finding(doc, "counter.reset")
        self.assertEqual(f["severity"], "error")
        self.assertIn("at least", f["evidence"], "the lower bound is a diagnostic")
        r, doc = self.faulty("kind=jump,gpu=1,at=3s,value=-500J")
        self.assertEqual(r.returncode, 3)
        self.finding(doc, "counter.reset")

    def test_frozen_counter(self):
        r, doc = self.faulty("kind=frozen,gpu=1,at=2s")
        self.assertIn("GPU 1", self.finding(doc, "counter.frozen")["text"])
        x = self.energy(doc)  # the gauge goes on, and says that it did
        self.assertIn("counter.frozen", x["validity"]["reasons"])
        self.flat(x, doc, 400)
        self.assertIn("power.average", x["instrument"])
        r, doc = self.faulty("kind=frozen,gpu=1,at=2s", options=["--usage", "off", "--average", "off", "--instant",
                                                                 "off"])
        self.assertEqual(r.returncode, 3, "nothing else to read")
        self.assertEqual(self.energy(doc)["have"], 3)

    def test_memory_gauge_that_fails_costs_no_energy(self):
        """What lies inside a GPU is no part of the sum, so its loss is no loss of the sum's."""
        r, doc = self.faulty("kind=value,value=563212W,at=2s,gpu=0")
        self.assertEqual(r.returncode, 0, doc["validity"])
        x = self.energy(doc)
        self.assertEqual((x["have"], x["validity"]["status"]), (4, "findings"))
        self.flat(x, doc, 400)

    def test_driver_that_does_not_start(self):
        r, doc = self.faulty("kind=init,code=18", seconds=1)
        self.assertEqual(r.returncode, 3)
        self.assertIn("driver and library have different versions", r.stderr)
        self.assertIn("to mend it: ", r.stderr)
        self.assertIn("different versions", self.finding(doc, "meters.none")["evidence"])

    def test_meter_that_hangs(self):
        _, doc = self.faulty("kind=slow,gpu=1,at=1s,value=3s,for=500ms")
        x = self.energy(doc)  # a counter loses nothing by a pause
        self.assertEqual(x["have"], 4)
        self.flat(x, doc, 400)


class Nothing(Base):
    def test_every_command_says_what_was_tried(self):
        for args in (["record", "-t", "100ms"], ["idle", "-t", "1s", "--settle", "0s"], ["run", "--strict"]):
            r = self.joulemark(*args, "-o", self.file, "--force", *NOTHING, *(["--", "true"] if args[0] == "run" else []))
            self.assertEqual(r.returncode, 3, r.stderr)
            for name in ("nvml: /nonexistent/libnvidia-ml.so.1 cannot be loaded", "rapl: ", "perf: ", "hwmon: "):
                self.assertIn(name, r.stderr)
            doc = json.loads(self.joulemark("show", "--json", self.file).stdout)
            self.finding(doc, "meters.none")
            self.assertFalse([x for x in doc["results"] if x["metric"] == "energy" and x["value"] is not None])

    def test_meter_that_is_none(self):
        r = self.joulemark("record", "-t", "1s", "-o", self.file, "-m", "nvlm", *NOTHING)
        self.assertEqual(r.returncode, 2)
        self.assertIn("nvlm", r.stderr)
        self.assertFalse(os.path.exists(self.file))


class Rapl(Base):
    """A powercap tree of our own, its counters moved by a thread."""

    def setUp(self):
        super().setUp()
        self.zone = os.path.join(self.dir, "sys", "class", "powercap", "intel-rapl:0")
        os.makedirs(self.zone)
        self.stop = threading.Event()
        self.last, self.longest = math.inf, 0
        self.addCleanup(self.stop.set)

    def put(self, name, value):
        temp = os.path.join(self.dir, "new")
        with open(temp, "w", encoding="ascii") as f:
            f.write(f"{value}\n")
        os.replace(temp, os.path.join(self.zone, name))

    def tree(self, modulus, uj=0):
        self.put("name", "package-0")
        self.put("enabled", 1)
        self.put("max_energy_range_uj", modulus)
        self.modulus = modulus
        self.fd = os.open(os.path.join(self.zone, "energy_uj"), os.O_RDWR | os.O_CREAT, 0o444)
        self.addCleanup(os.close, self.fd)
        self.set(uj)

    def set(self, uj):
        now = time.monotonic()
        self.longest = max(self.longest, now - self.last)
        self.last = now
        os.pwrite(self.fd, b"%020d\n" % uj, 0)  # in place, always as long: a reader never sees half of it

    def draw(self, watts):
        """From now on as a counter that wraps: watts() of the seconds gone."""
        begin = self.began = time.monotonic()

        def move():
            while not self.stop.wait(0.002):
                self.set(int(watts(time.monotonic() - begin) * 1e6) % self.modulus)

        thread = threading.Thread(target=move, daemon=True)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(self.stop.set)

    def check_energy(self, x, doc, watts):
        """The power is flat, so that only the moments at which the counter moved can be mistaken, and how late it did."""
        raw = edges.export(JOULEMARK, self.file)
        rows, = edges.readings(raw, "rapl", "energy")
        w = raw["windows"][0]
        seen = edges.Edges(rows, w["t0_ns"], w["t1_ns"], 2_000_000)
        allowed = watts * (0.1 + 2 * self.longest) + seen.joules(0, watts)
        self.assertAlmostEqual(x["value"], watts * doc["windows"][0]["seconds"], delta=allowed)

    def args(self):
        return ["-m", "rapl", "--sysfs-root", os.path.join(self.dir, "sys"), "--dev-root", "/nonexistent"]

    def test_wraps_in_order(self):
        """At the most that a package may draw, 3 kW, readings may be 6 s late before it is doubtful how often 20 kJ wrapped; at
        20 W the counter's own thread may be late too before it jumps by more than such a package could."""
        self.tree(modulus=20_000_000_000)
        self.draw(lambda s: 19_950 + 20 * s)
        r, doc = self.record(5.5, *self.args())
        x = self.energy(doc, "device")
        self.assertEqual(r.returncode, 0, doc["validity"])
        self.check_energy(x, doc, 20)

    def test_two_wraps_between_readings(self):
        """At 2 Hz and 8 J a wrap 100 W passes six times between two readings: no number may come of it."""
        self.tree(modulus=8_000_000)
        self.draw(lambda s: 100 * s)
        r, doc = self.record(5.5, *self.args(), "--sample-rate", "2 Hz", "--no-edge")
        self.assertEqual(r.returncode, 3, doc["validity"])
        self.assertIsNone(self.energy(doc, "device")["value"])
        self.finding(doc, "counter.ambiguous")

    def test_reset(self):
        self.tree(modulus=262_143_328_850)
        begun = []  # since it runs: 2 s into the recording it starts again

        def watts(s):
            if not begun and os.path.exists(self.file + "-wal"):
                begun.append(s)
            return 100 * (s - begun[0] - 2) if begun and s >= begun[0] + 2 else 50_000 + 100 * s

        def attempt():  # that is in the window, unless the machine took longer to open or to close it
            begun.clear()
            made = self.record(5.5, *self.args())
            w = edges.export(JOULEMARK, self.file)["windows"][0]
            moment = (self.began + begun[0] + 2) * 1e9
            self.assertTrue(w["t0_ns"] < moment < w["t1_ns"], "the reset was beside the window")
            return made
        self.draw(watts)
        r, doc = patience.again(attempt)
        self.assertEqual(r.returncode, 3, doc["validity"])
        self.finding(doc, "counter.reset")

    def test_frozen(self):
        self.tree(modulus=262_143_328_850, uj=12345678)
        r, doc = self.record(5.5, *self.args())
        self.assertEqual(r.returncode, 3, doc["validity"])
        x = self.energy(doc, "device")
        self.assertNotEqual(x["value"], 0, "a counter that stands still is no energy of 0")
        self.assertEqual(x["validity"]["status"], "invalid")

    def test_file_that_vanishes(self):
        self.tree(modulus=262_143_328_850)
        self.draw(lambda s: 100 * s)
        threading.Timer(3, shutil.rmtree, [os.path.join(self.dir, "sys")]).start()
        r, doc = self.record(5.5, *self.args())
        # the open file goes on where the kernel lets it; in no case is there a silent half
        self.assertIn(r.returncode, (0, 3))
        if r.returncode == 0:
            self.check_energy(self.energy(doc, "device"), doc, 100)

    def test_nonsense_in_the_file(self):
        self.tree(modulus=262_143_328_850)
        for text in (b"", b"-5\n", b"99999999999999999999999\n", b"0x10\n", b"\0\0\0\n", b"a lot\n"):
            os.ftruncate(self.fd, 0)
            os.pwrite(self.fd, text, 0)
            r, doc = self.record(1, *self.args())
            self.assertEqual(r.returncode, 3, text)
            self.assertFalse([x for x in doc["results"] if x["metric"] == "energy" and x["value"] is not None], text)

    @unittest.skipUnless(os.geteuid() == 0, "root is needed to become somebody else")
    def test_only_root_may_read(self):
        """energy_uj is 0400 since CVE-2020-8694: one command mends it, and the run is written all the same."""
        self.tree(modulus=262_143_328_850)
        os.chmod(os.path.join(self.zone, "energy_uj"), 0o400)
        os.chmod(self.dir, 0o777)
        if not patience.nobody_runs(JOULEMARK):
            self.skipTest("nobody cannot run the program here")
        under = [sys.executable, "-c", "import os, sys; os.setgid(65534); os.setuid(65534); os.execv(sys.argv[1], "
                 "sys.argv[1:])"]
        r = self.joulemark("meters", "--no-measure", *self.args(), under=under)
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertIn("only root may read energy_uj", " ".join(r.stdout.split()))
        self.assertEqual(r.stdout.count("mend:"), 1)
        r, doc = self.record(1, *self.args(), under=under)
        self.assertEqual(r.returncode, 3, r.stderr)
        self.assertIn("only root may read energy_uj", r.stderr)
        self.assertEqual(r.stderr.count("to mend it:"), 1)
        self.assertIn("energy_uj", self.finding(doc, "meters.none")["evidence"])


tap.main()

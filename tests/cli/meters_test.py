#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""joulemark meters: what can be read, and the reason and mending command of what cannot."""
import json
import os
import subprocess
import tempfile
import unittest

import patience
import tap

JOULEMARK = os.environ["JOULEMARK"]
NOTHING = ["--sysfs-root", "/nonexistent", "--proc-root", "/nonexistent", "--dev-root", "/nonexistent", "--nvml-lib",
           "/nonexistent/libnvidia-ml.so.1"]


def run(*args, **kw):
    return subprocess.run([JOULEMARK, *args], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60, **kw)


def on_gpus(gpu_args, *args):
    """The command on simulated GPUs."""
    return subprocess.run([JOULEMARK, "sim", "gpu", *gpu_args, "--", JOULEMARK, *args], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=60)


class Nothing(unittest.TestCase):
    def test_reasons_and_status(self):
        r = run("meters", *NOTHING)
        self.assertEqual((r.returncode, r.stderr), (0, ""))
        self.assertIn("none can be read", r.stdout)
        self.assertRegex(r.stdout, r"(?m)^  nvml +absent ")
        self.assertIn("/nonexistent", r.stdout)
        for line in r.stdout.splitlines():
            if not line.startswith("            mend: "):  # a command is not cut
                self.assertLessEqual(len(line), 80, line)

    def test_json(self):
        doc = json.loads(run("meters", "--json", *NOTHING).stdout)
        self.assertEqual(doc["schema"], "joulemark.meters/1")
        by = {m["name"]: m for m in doc["meters"]}
        self.assertIn("rapl", by)
        for m in doc["meters"]:
            if m["state"] == "ok":
                continue
            self.assertNotEqual(m["reason"], "", m["name"])
            self.assertEqual(m["channels"], [])

    def test_selection(self):
        doc = json.loads(run("meters", "--json", "-m", "rapl,nvml", *NOTHING).stdout)
        self.assertEqual([m["name"] for m in doc["meters"]], ["nvml", "rapl"])
        r = run("meters", "-m", "nvlm")
        self.assertEqual((r.returncode, r.stdout), (2, ""))
        self.assertIn("nvlm", r.stderr)

    def test_closed_rapl(self):
        with tempfile.TemporaryDirectory() as d:
            zone = os.path.join(d, "class", "powercap", "intel-rapl:0")
            os.makedirs(zone)
            for name, text in {"name": "package-0", "energy_uj": "1000", "max_energy_range_uj": "262143328850",
                               "enabled": "1"}.items():
                with open(os.path.join(zone, name), "w", encoding="ascii") as f:
                    f.write(text + "\n")
            os.chmod(os.path.join(zone, "energy_uj"), 0o400)  # as Linux has it since CVE-2020-8694
            os.chmod(d, 0o755)
            who = {}
            if os.getuid() == 0:
                who = {"user": 65534}
                if not patience.nobody_runs(JOULEMARK):
                    self.skipTest("nobody cannot run the program here")
            else:
                os.chmod(os.path.join(zone, "energy_uj"), 0)
            r = run("meters", "-m", "rapl", *NOTHING[2:], "--sysfs-root", d, **who)
            self.assertIn("denied", r.stdout)
            self.assertIn("mend: ", r.stdout)


class Simulated(unittest.TestCase):
    def test_gpus(self):
        r = on_gpus(["--gpus", "2", "--refresh", "50ms"], "meters", "-m", "nvml", "--json", "--measure", "1s")
        self.assertEqual(r.returncode, 0, r.stderr)
        meter = json.loads(r.stdout)["meters"][0]
        self.assertEqual((meter["state"], meter["simulated"]), ("ok", True))
        energy = [c for c in meter["channels"] if c["name"] == "energy"]
        self.assertEqual(len(energy), 2)
        self.assertEqual(len({c["device"] for c in energy}), 2)
        for c in energy:
            self.assertEqual((c["kind"], c["unit"], c["status"], c["provenance"]), ("counter", "J", "ok", "simulated"))
            self.assertEqual(c["resolution"], 0.001)
            self.assertIsNone(c["accuracy_relative"], "a board's gain is not known")
            self.assertEqual(c["domain"]["kind"], "gpu")
            self.assertTrue(c["domain"]["inside"].startswith("gpu < "))
            self.assertTrue(c["period_measured"])

        limits = [c for c in meter["channels"] if c["name"] == "power.limit"]
        self.assertEqual([c["status"] for c in limits], ["ok", "ok"])

    def test_periods(self):
        """By how often the counters were seen to move: a machine that looks too seldom misses some."""
        def attempt():
            r = on_gpus(["--gpus", "2", "--refresh", "50ms"], "meters", "-m", "nvml", "--json", "--measure", "1s")
            periods = [c["period_s"] for c in json.loads(r.stdout)["meters"][0]["channels"] if c["name"] == "energy"]
            self.assertEqual([round(p, 2) for p in periods], [0.05, 0.05])
        patience.again(attempt, tries=5)

    def test_text(self):
        r = on_gpus(["--gpus", "8"], "meters", "-m", "nvml", "--no-measure")
        self.assertEqual(r.returncode, 0)
        self.assertIn("SIMULATED", r.stdout)
        self.assertRegex(r.stdout, r"(?m)^  GPU 0 to GPU 7: 8 alike, NVIDIA H100")
        self.assertRegex(r.stdout, r"(?m)^    energy +gpu +counter +100 ms")
        self.assertRegex(r.stdout, r"(?m)^    power.average +gpu +mean of the last 1 s ")
        self.assertRegex(r.stdout, r"(?m)^      gpu x 8: GPU 0 to GPU 7 +nvml$")
        for line in r.stdout.splitlines():
            self.assertLessEqual(len(line), 80, line)

    def test_devices(self):
        r = on_gpus(["--gpus", "4"], "meters", "-m", "nvml", "--json", "--no-measure", "--devices", "2,0")
        energy = [c for c in json.loads(r.stdout)["meters"][0]["channels"] if c["name"] == "energy"]
        self.assertEqual(len(energy), 2)


class Tree(unittest.TestCase):
    """A server as its files show it: two packages, their memory, psys, the mmio copy, a BMC, an AMD GPU that sleeps."""

    FILES = {
        "class/powercap/intel-rapl:0/name": "package-0",
        "class/powercap/intel-rapl:0/energy_uj": "52100000000",
        "class/powercap/intel-rapl:0/max_energy_range_uj": "262143328850",
        "class/powercap/intel-rapl:0:0/name": "dram",
        "class/powercap/intel-rapl:0:0/energy_uj": "7000000",
        "class/powercap/intel-rapl:0:0/max_energy_range_uj": "65712999613",
        "class/powercap/intel-rapl:1/name": "package-1",
        "class/powercap/intel-rapl:1/energy_uj": "99000000",
        "class/powercap/intel-rapl:2/name": "psys",
        "class/powercap/intel-rapl:2/energy_uj": "60000000000",
        "class/powercap/intel-rapl-mmio:0/name": "package-0",
        "class/powercap/intel-rapl-mmio:0/energy_uj": "52100000001",
        "class/hwmon/hwmon0/name": "power_meter",
        "class/hwmon/hwmon0/power1_average": "412000000",
        "class/hwmon/hwmon0/power1_average_interval": "1000",
        "class/hwmon/hwmon1/name": "amdgpu",
        "class/hwmon/hwmon1/power1_average": "31000000",
        "class/hwmon/hwmon1/device/power/runtime_status": "suspended",
        "class/hwmon/hwmon2/name": "scmi_sensors",
        "class/hwmon/hwmon2/power1_input": "3000000",
        "class/hwmon/hwmon2/power1_label": "soc",
    }

    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        for path, text in self.FILES.items():
            full = os.path.join(self.dir.name, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "w", encoding="ascii") as f:
                f.write(text + "\n")

    def tearDown(self):
        self.dir.cleanup()

    def meters(self, *args):
        return run("meters", "--no-measure", *args, *NOTHING[2:], "--sysfs-root", self.dir.name)

    def test_text(self):
        r = self.meters()
        self.assertEqual((r.returncode, r.stderr), (0, ""))
        for pattern in (r"(?m)^    package-0 +device +counter ", r"(?m)^    dram of package-0 +device +counter ",
                        r"(?m)^    package-0 .mirror. +never +counter ", r"(?m)^    psys +never +counter ",
                        r"mean of each 1 s", r"412 W", r"suspended", r"(?m)^ +dram: dram of package-0 +rapl$",
                        r"at least every 16 s", r"amdgpu  AMD GPUs"):
            self.assertRegex(r.stdout, pattern)
        for line in r.stdout.splitlines():
            if "mend: " not in line:
                self.assertLessEqual(len(line), 80, line)
            self.assertEqual(line, line.rstrip(), "no blanks at the end")

    def test_json(self):
        doc = json.loads(self.meters("--json").stdout)
        rapl = next(m for m in doc["meters"] if m["name"] == "rapl")
        self.assertIn("CVE-2020-8694", rapl["needs"])
        by = {c["device"]: c for c in rapl["channels"]}
        self.assertEqual(by["intel-rapl:0"]["wraps_at"], 262143.32885)
        self.assertIsNone(by["intel-rapl:1"]["wraps_at"], "the range cannot be read")
        self.assertEqual(by["intel-rapl:0"]["value"], 52100.0)
        self.assertEqual((by["intel-rapl:0"]["added"], by["intel-rapl-mmio:0"]["added"], by["intel-rapl:2"]["added"]),
                         (True, False, False))
        self.assertEqual(by["intel-rapl-mmio:0"]["domain"]["id"], by["intel-rapl:0"]["domain"]["id"])
        amd = next(m for m in doc["meters"] if m["name"] == "amdgpu")["channels"][0]
        self.assertEqual((amd["status"], amd["value"], amd["period_s"]), ("suspended", None, None))
        self.assertEqual(doc["readable"], 4)


tap.main()

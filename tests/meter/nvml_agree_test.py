#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's own Python bindings (PyPI: nvidia-ml-py) and `joulemark meters` read the same simulated GPUs and agree."""
import json
import os
import subprocess
import sys
import unittest

import patience
import pypi
import tap

JOULEMARK = os.environ["JOULEMARK"]
SIM = os.path.join(os.environ["JM_BUILD"], "sim", "joulemark-sim")
PYTHON, WHY = pypi.prepare("nvml", "nvidia-ml-py==13.580.82", "pynvml")

READ = """
import json, subprocess, sys
from pynvml import *

def maybe(f, *a):
    try:
        return f(*a)
    except NVMLError:
        return None

def field(h, ident, scope):
    try:
        v = nvmlDeviceGetFieldValues(h, [(ident, scope)])[0]
    except NVMLError:
        return None
    return v.value.uiVal if v.nvmlReturn == 0 else None

def energy(gpus):
    return {u: maybe(nvmlDeviceGetTotalEnergyConsumption, h) for u, h in gpus.items()}

nvmlInit()
gpus = {}
for i in range(nvmlDeviceGetCount()):
    h = nvmlDeviceGetHandleByIndex(i)
    gpus[nvmlDeviceGetUUID(h)] = h
out = {"before": energy(gpus)}
out["meters"] = json.loads(subprocess.check_output([sys.argv[1], "meters", "-m", "nvml", "--no-measure", "--json"]))
out["after"] = energy(gpus)
out["driver"] = nvmlSystemGetDriverVersion()
out["gpus"] = {u: {
    "name": nvmlDeviceGetName(h),
    "bus": nvmlDeviceGetPciInfo(h).busId,
    "power.average": [field(h, 185, 0), field(h, 185, 1)],
    "power.instant": [field(h, 186, 0), field(h, 186, 1)],
    "power.usage": maybe(nvmlDeviceGetPowerUsage, h),
    "power.limit": maybe(nvmlDeviceGetEnforcedPowerLimit, h),
    "clock.sm": maybe(nvmlDeviceGetClockInfo, h, NVML_CLOCK_SM),
    "clock.mem": maybe(nvmlDeviceGetClockInfo, h, NVML_CLOCK_MEM),
    "temp": maybe(nvmlDeviceGetTemperature, h, NVML_TEMPERATURE_GPU),
    "pstate": maybe(nvmlDeviceGetPerformanceState, h),
    "util.gpu": (lambda u: u and u.gpu)(maybe(nvmlDeviceGetUtilizationRates, h)),
    "mig": (lambda m: m and m[0])(maybe(nvmlDeviceGetMigMode, h)),
} for u, h in gpus.items()}
nvmlShutdown()
print(json.dumps(out))
"""


class Agree(unittest.TestCase):
    def read(self, *options):
        r = subprocess.run([SIM, "gpu", "--waveform", "const:90W", *options, "--", PYTHON, "-c", READ, JOULEMARK],
                           capture_output=True, text=True, timeout=60)
        self.assertEqual(r.returncode, 0, r.stderr)
        return json.loads(r.stdout)

    def check(self, *options):
        """Of one moment, as far as this machine lets it be one: what moves, as the temperature, may do so in between."""
        patience.again(lambda: self.once(*options))

    def once(self, *options):
        out = self.read(*options)
        meter = out["meters"]["meters"][0]
        facts = meter["facts"]
        self.assertEqual(facts["nvml.driver"], out["driver"])
        by = {(c["device"], c["name"]): c for c in meter["channels"]}
        order = sorted(out["gpus"], key=lambda u: out["gpus"][u]["bus"])
        for i, uuid in enumerate(order):
            gpu = out["gpus"][uuid]
            self.assertEqual((facts[f"gpu.{i}.uuid"], facts[f"gpu.{i}.name"]), (uuid, gpu["name"]))
            self.assertEqual(facts[f"gpu.{i}.pci"], gpu["bus"][4:].lower())
            energy = by.get((uuid, "energy"))
            self.assertEqual(energy is None, out["before"][uuid] is None)
            if energy:
                self.assertTrue(out["before"][uuid] <= round(energy["value"] * 1000) <= out["after"][uuid])
            for name, scopes in (("power.average", gpu["power.average"]), ("power.instant", gpu["power.instant"])):
                c = by.get((uuid, name))
                want = scopes[0] if scopes[0] is not None else scopes[1]
                self.assertEqual(c and round(c["value"] * 1000), want, name)
                if c:
                    self.assertEqual(c["scope"], "gpu" if scopes[0] is not None else "module")
            for name, scale in (("power.limit", 1000), ("clock.sm", 1e-6), ("clock.mem", 1e-6), ("temp", 1), ("pstate", 1),
                                ("util.gpu", 100), ("mig", 1)):
                c = by.get((uuid, name))
                self.assertEqual(c and round(c["value"] * scale), gpu[name], name)
            self.assertTrue((uuid, "power.usage") not in by or round(by[uuid, "power.usage"]["value"] * 1000) == gpu["power.usage"])

    def test_profiles(self):
        for profile in ("h100", "gh200", "a100", "l40s", "b200", "gb10", "p100"):
            with self.subTest(profile=profile):
                self.check("--gpus", "3", "--profile", profile)

    def test_mixed(self):
        self.check("--gpus", "4", "--gpu", "1:profile=p100", "--gpu", "2:profile=l40s", "--gpu", "3:mig=1g.10gb+3g.40gb")

    def test_order_is_the_bus(self):
        self.check("--gpus", "3", "--gpu", "0:pci=0000:f1:00.0", "--gpu", "2:pci=0000:02:00.0")


if WHY:
    print(WHY)
    sys.exit(77)
tap.main()

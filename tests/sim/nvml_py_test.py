#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's own Python bindings (PyPI: nvidia-ml-py) read the simulated library.

They are a second, independent description of NVML's binary interface. They are installed into a virtual environment in
the build folder; where Python's venv, pip or the registry are missing, the test is skipped.
"""
import json
import os
import subprocess
import sys
import unittest

import pypi
import tap

BUILD = os.environ["JM_BUILD"]
SIM = os.path.join(BUILD, "sim", "joulemark-sim")
PYTHON, WHY = pypi.prepare("nvml", "nvidia-ml-py==13.580.82", "pynvml")


def read(options, code):
    """Runs code under the simulation; what it puts into the dict `out` comes back."""
    program = ("import json, os, subprocess\nfrom pynvml import *\nout = {}\n"
               "def clock(*a):\n"
               f"    return int(subprocess.check_output([{SIM!r}, 'clock', os.environ['JOULEMARK_SIM_GPU'], *a]))\n"
               "def truth(t0, t1):\n"
               f"    return json.loads(subprocess.check_output([{SIM!r}, 'truth', '--from', f'@{{t0}}', '--to', f'@{{t1}}',"
               " os.environ['JOULEMARK_SIM_GPU']]))\n"
               "def code(f, *a):\n"
               "    try:\n        f(*a)\n        return 0\n    except NVMLError as e:\n        return e.value\n"
               "nvmlInit()\n" + code + "\nnvmlShutdown()\nprint(json.dumps(out))\n")
    r = subprocess.run([SIM, "gpu", *options, "--", PYTHON, "-c", program], capture_output=True, text=True, timeout=60)
    if r.returncode:
        raise AssertionError(r.stderr)
    return json.loads(r.stdout)


class Bindings(unittest.TestCase):
    def test_identity(self):
        out = read(["--gpus", "3", "--seed", "7", "--driver", "575.57.08", "--cuda", "12.9", "--gpu", "2:profile=l40s"], """
out["count"] = nvmlDeviceGetCount()
out["driver"] = nvmlSystemGetDriverVersion()
out["cuda"] = nvmlSystemGetCudaDriverVersion_v2()
out["gpus"] = []
for i in range(nvmlDeviceGetCount()):
    h = nvmlDeviceGetHandleByIndex(i)
    pci = nvmlDeviceGetPciInfo(h)
    assert nvmlDeviceGetIndex(nvmlDeviceGetHandleByUUID(nvmlDeviceGetUUID(h))) == i
    assert nvmlDeviceGetIndex(nvmlDeviceGetHandleByPciBusId(pci.busId)) == i
    out["gpus"].append([nvmlDeviceGetName(h), nvmlDeviceGetUUID(h), pci.busId, pci.bus, nvmlDeviceGetArchitecture(h),
                        list(nvmlDeviceGetCudaComputeCapability(h)), nvmlDeviceGetMemoryInfo(h).total >> 20,
                        nvmlDeviceGetMemoryInfo(h, nvmlMemory_v2).total >> 20,
                        nvmlDeviceGetMaxClockInfo(h, NVML_CLOCK_SM), nvmlDeviceGetTemperature(h, NVML_TEMPERATURE_GPU),
                        nvmlDeviceGetPersistenceMode(h), nvmlDeviceGetBrand(h)])
""")
        self.assertEqual((out["count"], out["driver"], out["cuda"]), (3, "575.57.08", 12090))
        for i, (name, uuid, bus, number, *rest) in enumerate(out["gpus"]):
            self.assertIn("(SIMULATED)", name)
            self.assertTrue(uuid.startswith("GPU-51340000-0007-"), uuid)
            self.assertEqual(bus, "%08X:%02X:00.0" % (0, number))
            arch, cc, v1, v2, sm, temp, persistence, _ = rest
            self.assertEqual((arch, cc, v1, sm), (8, [8, 9], 46068, 2520) if i == 2 else (9, [9, 0], 81559, 1980))
            self.assertEqual(v1, v2)
            self.assertTrue(20 < temp < 90)
            self.assertEqual(persistence, 1)

    def test_energy_against_truth(self):
        """Exact sensors: the counter moves by the true energy; refreshed ones: within one refresh at each end."""
        code = """
out["rows"] = []
handles = [nvmlDeviceGetHandleByIndex(i) for i in range(4)]
for step in ("3.3s", "711ms", "12s", "47.25s"):
    t0 = clock()
    a = [nvmlDeviceGetTotalEnergyConsumption(h) for h in handles]
    t1 = clock(step)
    b = [nvmlDeviceGetTotalEnergyConsumption(h) for h in handles]
    w = truth(t0, t1)
    for i in range(4):
        out["rows"].append([(b[i] - a[i]) / 1000, w["gpus"][i]["energy_j"], t1 - t0])
"""
        for profile, bound in (("ideal", 0.001), ("h100", 70.001)):
            out = read(["--gpus", "4", "--virtual", "--profile", profile, "--offset", "random"], code)
            self.assertEqual(len(out["rows"]), 16)
            for counted, true, ns in out["rows"]:
                self.assertLessEqual(abs(counted - true), bound)
                self.assertTrue(300 * ns / 1e9 <= true + 1e-9 and true <= 700 * ns / 1e9 + 1e-9)

    def test_fields(self):
        out = read(["--gpus", "1", "--virtual", "--waveform", "const:420W", "--base", "0", "--phase", "0s"], """
h = nvmlDeviceGetHandleByIndex(0)
clock("10s")
ids = [83, 185, 186, (185, 1), (185, 2), 187, 188, 189, 190, 191, 74]
out["v"] = []
for x in nvmlDeviceGetFieldValues(h, ids):
    out["v"].append([x.fieldId, x.nvmlReturn, x.valueType,
                     x.value.ullVal if x.valueType == NVML_VALUE_TYPE_UNSIGNED_LONG_LONG else x.value.uiVal])
out["limit"] = nvmlDeviceGetEnforcedPowerLimit(h)
nvmlDeviceSetPowerManagementLimit(h, 300000)
out["constraints"] = nvmlDeviceGetPowerManagementLimitConstraints(h)
clock("10s")
out["power"] = nvmlDeviceGetPowerUsage(h)
out["reasons"] = nvmlDeviceGetCurrentClocksEventReasons(h)
out["e"] = nvmlDeviceGetTotalEnergyConsumption(h)
out["high"] = code(nvmlDeviceSetPowerManagementLimit, h, 900000)
kind, samples = nvmlDeviceGetSamples(h, NVML_TOTAL_POWER_SAMPLES, 0)
out["samples"] = sorted({x.sampleValue.uiVal for x in samples})
""")
        self.assertEqual(out["v"], [[83, 0, 3, 4200000], [185, 0, 1, 420000], [186, 0, 1, 420000], [185, 3, 1, 0],
                                    [185, 0, 1, 63000], [187, 0, 1, 200000], [188, 0, 1, 700000], [189, 0, 1, 700000],
                                    [190, 0, 1, 700000], [191, 0, 3, 4200000], [74, 0, 3, 0]])
        self.assertEqual((out["limit"], out["constraints"]), (700000, [200000, 700000]))
        self.assertEqual((out["power"], out["reasons"], out["e"], out["high"]), (300000, 4, 7200000, 2))
        self.assertEqual(out["samples"], [300000, 420000])  # the last 12 s

    def test_processes_and_mig(self):
        out = read(["--gpus", "2", "--gpu", "1:mig=1g.10gb+-+2g.20gb", "--process", "pid=child,mem=3GiB,sm=55",
                    "--process", "pid=1,gpu=1,gi=3,ci=0,mem=1GiB"], """
h = [nvmlDeviceGetHandleByIndex(i) for i in range(2)]
p = nvmlDeviceGetComputeRunningProcesses(h[0])
out["mine"] = [x.pid == os.getpid() and x.usedGpuMemory == 3 << 30 for x in p]
out["mode"] = [nvmlDeviceGetMigMode(x) for x in h]
out["mig"] = []
for i in range(nvmlDeviceGetMaxMigDeviceCount(h[1])):
    try:
        m = nvmlDeviceGetMigDeviceHandleByIndex(h[1], i)
    except NVMLError_NotFound:
        continue
    parent = nvmlDeviceGetDeviceHandleFromMigDeviceHandle(m)
    out["mig"].append([i, nvmlDeviceGetUUID(m)[:12], nvmlDeviceGetUUID(parent) == nvmlDeviceGetUUID(h[1]),
                       nvmlDeviceGetGpuInstanceId(m), nvmlDeviceGetAttributes_v2(m).memorySizeMB,
                       code(nvmlDeviceGetPowerUsage, m), [x.pid for x in nvmlDeviceGetComputeRunningProcesses(m)]])
out["util"] = code(nvmlDeviceGetUtilizationRates, h[1])
""")
        self.assertEqual(out["mine"], [True])
        self.assertEqual(out["mode"], [[0, 0], [1, 1]])
        self.assertEqual(out["mig"], [[0, "MIG-51340000", True, 1, 10240, 3, []],
                                      [2, "MIG-51340000", True, 3, 20480, 3, [1]]])
        self.assertEqual(out["util"], 3)

    def test_faults(self):
        out = read(["--gpus", "3", "--virtual", "--fault", "kind=lost,gpu=0,at=5s", "--fault", "kind=reset,gpu=1,at=5s",
                    "--fault", "kind=entry,gpu=2,at=5s,what=instant"], """
h = [nvmlDeviceGetHandleByIndex(i) for i in range(3)]
before = nvmlDeviceGetTotalEnergyConsumption(h[1])
clock("6s")
out["lost"] = code(nvmlDeviceGetPowerUsage, h[0])
out["reset"] = nvmlDeviceGetTotalEnergyConsumption(h[1]) < before
out["entry"] = [x.nvmlReturn for x in nvmlDeviceGetFieldValues(h[2], [186, 83])]
""")
        self.assertEqual(out, {"lost": 15, "reset": True, "entry": [3, 0]})


if WHY:
    print(WHY)
    sys.exit(77)
tap.main()

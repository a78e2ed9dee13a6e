# SPDX-License-Identifier: Apache-2.0
"""joulemark-sim node: GPUs and engines together, as a program sees them from outside."""
import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest
import urllib.request

import tap
from simengine import SIM, wait_for

CLIENT = r"""
import ctypes, json, os, sys, time, urllib.request
nvml = ctypes.CDLL("libnvidia-ml.so.1")
assert nvml.nvmlInit_v2() == 0
def handle(i):
    h = ctypes.c_void_p()
    assert nvml.nvmlDeviceGetHandleByIndex_v2(i, ctypes.byref(h)) == 0
    return h
def energy(i):
    e = ctypes.c_ulonglong()
    assert nvml.nvmlDeviceGetTotalEnergyConsumption(handle(i), ctypes.byref(e)) == 0
    return e.value
class Proc(ctypes.Structure):
    _fields_ = [("pid", ctypes.c_uint), ("memory", ctypes.c_ulonglong), ("gi", ctypes.c_uint), ("ci", ctypes.c_uint)]
def pids(i):
    n, p = ctypes.c_uint(8), (Proc * 8)()
    assert nvml.nvmlDeviceGetComputeRunningProcesses_v3(handle(i), ctypes.byref(n), p) == 0
    return [p[k].pid for k in range(n.value)]
url = os.environ["JOULEMARK_SIM_URL"]
t0, before = time.monotonic(), [energy(i) for i in range(8)]
body = json.dumps({"model": os.environ["JOULEMARK_SIM_MODEL"], "prompt": "word " * 300, "max_tokens": 40, "ignore_eos": True}).encode()
r = json.load(urllib.request.urlopen(urllib.request.Request(url + "/v1/completions", body)))
time.sleep(0.15)
t1, after = time.monotonic(), [energy(i) for i in range(8)]
print(json.dumps({"seconds": t1 - t0, "joule": [(b - a) / 1000 for a, b in zip(before, after)], "pids": [pids(i) for i in range(8)],
                  "tokens": r["usage"]["completion_tokens"]}))
sys.exit(7)
"""


class Node(unittest.TestCase):
    def test_command(self):
        with tempfile.TemporaryDirectory() as d:
            truth = os.path.join(d, "truth.json")
            r = subprocess.run([SIM, "node", "--truth", truth, "--seed", "3", "--", sys.executable, "-c", CLIENT], capture_output=True,
                               text=True, timeout=60)
            self.assertEqual(r.returncode, 7, r.stderr)
            seen = json.loads(r.stdout)
            with open(truth) as f:
                t = json.load(f)
            self.assertEqual(os.listdir(d), ["truth.json"])
        self.assertEqual(seen["tokens"], 40)
        engine = t["engines"][0]
        self.assertEqual(engine["tokens"]["generated"], 40)
        self.assertEqual([len(p) for p in seen["pids"]], [1, 1, 1, 1, 0, 0, 0, 0])
        self.assertEqual(len({p[0] for p in seen["pids"][:4]}), 1)
        # the counters, read before and after, cannot have seen more than the truth of all the time, and the steps are in between
        for i in range(4):
            self.assertLessEqual(seen["joule"][i], t["node"]["gpus"][i]["energy_j"] + 0.002)
            steps = (engine["energy_j"] - engine["energy_by_part_j"]["between_steps"]) / 4
            self.assertGreater(seen["joule"][i], 0.7 * steps)
        for i in range(4, 8):
            self.assertLess(seen["joule"][i], 80 * (seen["seconds"] + 0.2))
        # boards idle before and after their engine, at 72.5 W or so, for some milliseconds
        for i in range(4):
            more = t["node"]["gpus"][i]["energy_j"] - engine["gpus"][i]["energy_j"]
            self.assertTrue(0 <= more < 72.5 * 5, more)

    def test_served_until_stopped(self):
        with tempfile.TemporaryDirectory() as d:
            state, truth = os.path.join(d, "state"), os.path.join(d, "truth.json")
            p = subprocess.Popen([SIM, "node", "--gpus", "6", "--engine", "8b-h100:served-model-name=small", "--engine",
                                  "70b-4xh100:gpus=2-5,speed=50,fault=no-usage", "--state", state, "--truth", truth, "--api-key", "k"],
                                 stdout=subprocess.PIPE, text=True)
            j = json.loads(p.stdout.readline())
            self.assertTrue(j["simulated"])
            self.assertEqual(j["model"], "small")
            self.assertEqual([e["gpus"] for e in j["engines"]], [[0], [2, 3, 4, 5]])
            self.assertEqual(j["state"], os.path.realpath(state))
            self.assertTrue(os.path.exists(j["lib"]))
            for e in j["engines"]:
                q = urllib.request.Request(e["url"] + "/v1/models", headers={"Authorization": "Bearer k"})
                m = json.load(urllib.request.urlopen(q))["data"][0]
                self.assertEqual(m["id"], e["model"])
            p.send_signal(signal.SIGTERM)
            self.assertEqual(p.wait(20), 0)
            p.stdout.close()
            for e in j["engines"]:
                self.assertRaises(ProcessLookupError, os.kill, e["pid"], 0)
            with open(truth) as f:
                self.assertEqual([e["model"] for e in json.load(f)["engines"]], ["8b-h100", "70b-4xh100"])
            self.assertEqual(sorted(os.listdir(d)), ["state", "truth.json"])

    def test_workers_own_the_gpus(self):
        code = CLIENT.replace('"max_tokens": 40', '"max_tokens": 2').replace("sys.exit(7)", "print(json.dumps([pids(i) for i in range(8)]))")
        r = subprocess.run([SIM, "node", "--workers", "--engine", "8b-h100", "--", sys.executable, "-c", code + """
import subprocess
p = pids(0)[0]
with open(f"/proc/{p}/stat") as f:
    parent = int(f.read().rsplit(")", 1)[1].split()[1])
with open(f"/proc/{parent}/comm") as f:
    print(f.read().strip(), parent != os.getppid())
"""], capture_output=True, text=True, timeout=60)
        self.assertEqual(r.returncode, 0, r.stderr)
        lines = r.stdout.splitlines()
        self.assertEqual([len(p) for p in json.loads(lines[-2])], [1, 0, 0, 0, 0, 0, 0, 0])
        self.assertEqual(lines[-1], "joulemark-sim True")  # the engine, a child of the node

    def test_virtual_time_is_refused(self):
        with tempfile.TemporaryDirectory() as d:
            state = os.path.join(d, "state")
            subprocess.run([SIM, "gpu", "--virtual", "--waveform", "drive", "--state", state, "--create-only"], check=True,
                           capture_output=True)
            r = subprocess.run([SIM, "engine", "--state", state], capture_output=True, text=True, timeout=20)
            self.assertEqual(r.returncode, 4)
            self.assertIn("virtual time", r.stderr)

    def test_a_dead_engine_ends_it(self):
        p = subprocess.Popen([SIM, "node"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        j = json.loads(p.stdout.readline())
        os.kill(j["engines"][0]["pid"], signal.SIGKILL)
        self.assertEqual(p.wait(20), 4)
        self.assertIn("ended unexpectedly", p.stderr.read())
        self.assertFalse(os.path.exists(j["state"]))
        p.stdout.close()
        p.stderr.close()

    def test_engines_go_with_the_node(self):
        p = subprocess.Popen([SIM, "node"], stdout=subprocess.PIPE, text=True)
        j = json.loads(p.stdout.readline())
        p.kill()
        p.wait(20)
        p.stdout.close()
        os.unlink(j["state"])

        def gone():
            try:
                with open(f"/proc/{j['engines'][0]['pid']}/stat") as f:
                    return f.read().rsplit(")", 1)[1].split()[0] == "Z"
            except OSError:
                return True
        wait_for(gone)

    def test_usage(self):
        for args in (["--engine", "none"], ["--engine", "8b-h100:gpus=9"], ["--engine", "8b-h100:gpus=0", "--engine", "8b-h100:gpus=0"],
                     ["--engine", "8b-h100:gpus=0-1"], ["--gpus", "3"], ["--gpus", "x"], ["--waveform", "const"], ["--virtual"], ["--engine"],
                     ["--engine", "8b-h100:state=x"], ["--engine", "8b-h100:nonsense=1"], ["--nonsense"], ["--"], ["word"], ["--speed", "x"]):
            r = subprocess.run([SIM, "node", *args], capture_output=True, text=True, timeout=20)
            self.assertEqual(r.returncode, 2, args)
            self.assertEqual(len(r.stderr.strip().splitlines()), 1, (args, r.stderr))
        r = subprocess.run([SIM, "node", "--", "/nonexistent"], capture_output=True, text=True, timeout=20)
        self.assertEqual(r.returncode, 127)
        self.assertEqual(subprocess.run([SIM, "node", "--help"], capture_output=True, timeout=20).returncode, 0)


if __name__ == "__main__":
    tap.main()

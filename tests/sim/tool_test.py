#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""joulemark-sim from outside: help, usage errors, exit statuses, the state file, the truth."""
import json
import os
import signal
import subprocess
import tempfile
import time
import unittest

import tap

SIM = os.path.join(os.environ["JM_BUILD"], "sim", "joulemark-sim")


def sim(*args, **kw):
    return subprocess.run([SIM, *args], capture_output=True, text=True, timeout=30, stdin=subprocess.DEVNULL, **kw)


def create(path, *options):
    r = sim("gpu", *options, "--state", path, "--create-only")
    assert r.returncode == 0, r.stderr
    return r.stdout


class Tool(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)
        self.state = os.path.join(self.dir.name, "state")

    def test_help(self):
        for args in (["--help"], ["gpu", "--help"], ["truth", "--help"], ["clock", "--help"]):
            r = sim(*args)
            self.assertEqual((r.returncode, r.stderr), (0, ""))
            self.assertTrue(r.stdout.startswith("usage: joulemark-sim"))
            self.assertLessEqual(max(len(line) for line in r.stdout.splitlines()), 80)

    def test_usage_errors(self):
        for args in ([], ["gpus"], ["gpu", "--gpus"], ["gpu", "--gpus", "x"], ["gpu", "--wattage", "3"], ["gpu", "x"],
                     ["gpu", "--"], ["gpu", "--virtual=1"], ["gpu", "--create-only"], ["gpu", "--stop-after", "3"],
                     ["gpu", "--gpu", "8:gain=1", "--", "true"], ["gpu", "--waveform", "sine", "--", "true"],
                     ["gpu", "--mig", "1g.10gb", "--profile", "l40s", "--", "true"],
                     ["truth"], ["truth", "--from"], ["clock"], ["clock", "a", "b", "c"]):
            r = sim(*args)
            self.assertEqual(r.returncode, 2, args)
            self.assertEqual(r.stdout, "", args)
            if args:
                self.assertEqual(len(r.stderr.splitlines()), 1, r.stderr)

    def test_system_errors(self):
        for args in (["truth", "/nonexistent"], ["clock", "/dev/null"], ["gpu", "--config", "/nonexistent"],
                     ["gpu", "--state", "/nonexistent/x", "--create-only"], ["gpu", "--lib", "/nonexistent", "--", "true"],
                     ["gpu", "--truth", "/nonexistent/x", "--", "true"]):
            r = sim(*args)
            self.assertEqual(r.returncode, 4, args)
            self.assertEqual(len(r.stderr.splitlines()), 1, r.stderr)

    def test_status_of_the_command(self):
        self.assertEqual(sim("gpu", "--", "sh", "-c", "exit 7").returncode, 7)
        self.assertEqual(sim("gpu", "--", "sh", "-c", "kill -9 $$").returncode, 137)
        self.assertEqual(sim("gpu", "--", "/nonexistent/x").returncode, 127)
        self.assertEqual(sim("gpu", "--stop-after", "50ms", "--", "sleep", "20").returncode, 143)

    def test_environment_and_clean_up(self):
        r = sim("gpu", "--", "sh", "-c", 'test -f "$JOULEMARK_SIM_GPU" && test -f "$JM_NVML_LIB" && '
                                         'echo "$LD_LIBRARY_PATH" && echo "$JOULEMARK_SIM_GPU"',
                env={**os.environ, "LD_LIBRARY_PATH": "/other"})
        self.assertEqual(r.returncode, 0, r.stderr)
        path, state = r.stdout.split()
        self.assertTrue(path.endswith("/sim/gpu:/other"), path)
        self.assertFalse(os.path.exists(state))

    def test_stays_until_stopped(self):
        child = subprocess.Popen([SIM, "gpu", "--truth", self.state + ".json"], stdout=subprocess.PIPE, text=True)
        lines = [child.stdout.readline() for _ in range(3)]
        self.assertTrue(lines[0].startswith("export JOULEMARK_SIM_GPU='"))
        path = lines[0].split("'")[1]
        self.assertTrue(os.path.exists(path))
        child.send_signal(signal.SIGTERM)
        self.assertEqual(child.wait(20), 0)
        child.stdout.close()
        self.assertFalse(os.path.exists(path))
        with open(self.state + ".json") as f:
            self.assertEqual(len(json.load(f)["gpus"]), 8)

    def test_truth_of_a_window(self):
        create(self.state, "--gpus", "2", "--virtual", "--start", "0s", "--gpu", "1:waveform=const:123.5W")
        self.assertEqual(sim("clock", self.state, "30s").stdout, "30000000000\n")
        whole = json.loads(sim("truth", self.state).stdout)
        self.assertEqual([g["energy_j"] for g in whole["gpus"]], [12200, 3705])
        self.assertEqual((whole["energy_j"], whole["seconds"], whole["simulated"]), (15905, 30, True))
        part = json.loads(sim("truth", "--from", "3s", "--to", "@5000000000", self.state).stdout)
        self.assertEqual([g["energy_j"] for g in part["gpus"]], [1000, 247])
        self.assertEqual(part["t0"], "2026-01-01T00:00:03.000000000Z")
        self.assertEqual(sim("truth", "--from", "5s", "--to", "3s", self.state).returncode, 2)

    def test_real_clock_runs(self):
        create(self.state, "--gpus", "1", "--waveform", "const:1000W")
        a = int(sim("clock", self.state).stdout)
        time.sleep(0.01)
        self.assertGreater(int(sim("clock", self.state).stdout), a)
        self.assertEqual(sim("clock", self.state, "1s").returncode, 2)
        t = json.loads(sim("truth", self.state).stdout)
        self.assertAlmostEqual(t["energy_j"], 1000 * t["seconds"], places=6)

    def test_same_seed_same_truth(self):
        def truth(seed):
            create(self.state, "--virtual", "--seed", seed, "--waveform", "ou", "--offset", "random")
            return [g["energy_j"] for g in json.loads(sim("truth", "--to", "60s", self.state).stdout)["gpus"]]
        self.assertEqual(truth("4"), truth("4"))
        self.assertNotEqual(truth("4"), truth("5"))

    def test_configuration_file(self):
        conf = os.path.join(self.dir.name, "node.conf")
        with open(conf, "w") as f:
            f.write("# a node\ngpus 3\nvirtual\nwaveform const:200W   # all\ngpu 2 waveform cycle:100W@1s,300W@1s\n"
                    "fault kind=reset,gpu=0,at=5s\n")
        create(self.state, "--config", conf, "--gpu", "1:waveform=const:50W")
        t = json.loads(sim("truth", "--to", "4s", self.state).stdout)
        self.assertEqual([g["energy_j"] for g in t["gpus"]], [800, 200, 800])
        for line, where in (("gpus three", ":1: "), ("\nspeed 3", ":2: "), ("gpu x gain 1", ":1: "), ("gpu 1", ":1: ")):
            with open(conf, "w") as f:
                f.write(line + "\n")
            r = sim("gpu", "--config", conf, "--", "true")
            self.assertEqual(r.returncode, 2, line)
            self.assertIn(conf + where, r.stderr)

    def test_examples(self):
        folder = os.path.join(os.environ["JM_SOURCE"], "examples", "sim")
        names = sorted(n for n in os.listdir(folder) if n.endswith(".conf"))
        self.assertGreaterEqual(len(names), 3)
        for name in names:
            create(self.state, "--config", os.path.join(folder, name))

    def test_shares_nothing_with_src(self):
        """What is measured must not be the code that measures."""
        root = os.path.join(os.environ["JM_SOURCE"], "sim")
        count = 0
        for folder, _, names in os.walk(root):
            for name in names:
                if not name.endswith((".c", ".h")):
                    continue
                with open(os.path.join(folder, name), encoding="utf-8") as f:
                    for line in f:
                        if line.startswith('#include "'):
                            target = line.split('"')[1]
                            self.assertTrue(os.path.exists(os.path.join(folder, target)) or
                                            os.path.exists(os.path.join(root, target)), f"{name}: {target}")
                            count += 1
        self.assertGreater(count, 30)

    def test_full_standard_output(self):
        with open("/dev/full", "w") as full:
            r = subprocess.run([SIM, "gpu", "--help"], stdout=full, stderr=subprocess.PIPE, timeout=30)
        self.assertEqual(r.returncode, 4)


tap.main()

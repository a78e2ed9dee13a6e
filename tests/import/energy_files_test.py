#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What CodeCarbon, Zeus and CarbonTracker of PyPI write over two seconds of simulated GPUs, imported: the numbers that the tools gave
their callers, each with the boundary that it has."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

import agreement
import energy_tools_test as base
import pypi
import tap

BUILD = os.environ["JM_BUILD"]
PYTHON, WHY = pypi.prepare("energy-peers", agreement.PACKAGES, "codecarbon, zeus, carbontracker")
PEER = os.path.join(os.path.dirname(os.path.abspath(agreement.__file__)), "energy_peer.py")


class TheirFiles(base.Files):
    def setUp(self):
        super().setUp()
        state = os.path.join(self.dir, "state")
        subprocess.run([os.path.join(BUILD, "sim", "joulemark-sim"), "gpu", "--gpus", "2", "--seed", "5", "--waveform", "const:200W",
                        "--state", state, "--create-only"], check=True, capture_output=True, timeout=60)
        os.mkdir(self.dir + "/bin")  # CodeCarbon asks for a GPU by running nvidia-smi --help
        os.symlink("/bin/true", self.dir + "/bin/nvidia-smi")
        self.own = {**os.environ, "JOULEMARK_SIM_GPU": state, "LD_LIBRARY_PATH": os.path.join(BUILD, "sim", "gpu"), "HOME": self.dir,
                    "PATH": self.dir + "/bin:" + os.environ.get("PATH", "/usr/bin:/bin"), "CODECARBON_LOG_LEVEL": "error"}
        self.own.pop("CUDA_VISIBLE_DEVICES", None)

    def peer(self, name):
        """Runs it; its own answer, and the folder with what it wrote."""
        folder = tempfile.mkdtemp(dir=self.dir)
        orders = "".join(json.dumps({"do": d}) + "\n" for d in ("prepare", "start"))
        p = subprocess.Popen([PYTHON, PEER, name, folder], env=self.own, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, text=True)
        with p:
            p.stdin.write(orders)
            p.stdin.flush()
            for _ in range(2):
                p.stdout.readline()
            subprocess.run(["sleep", "2"], check=True)
            p.stdin.write("".join(json.dumps({"do": d}) + "\n" for d in ("stop", "read")))
            p.stdin.close()
            said = [json.loads(line) for line in p.stdout][-1]
        self.assertNotIn("error", said)
        return said, folder

    def gpu(self, joules):
        self.value("energy", "gpu", joules, "declared", rel=1e-4)

    def test_codecarbon(self):
        said, folder = self.peer("codecarbon")
        self.load(os.path.join(folder, "emissions.csv"), "codecarbon")
        self.gpu(said["gpu_j"])
        self.value("energy", "design", said["total_j"], "estimated", rel=1e-4)
        self.assertEqual(self.env["import.version"], said["version"])
        self.assertEqual(self.env["import.gpus"], "2")
        for there in ("energy.modelled", "energy.machine"):
            self.assertIn(there, self.found)
        for silent in ("energy.pue", "energy.parts", "rows.cut", "carbon.mix", "energy.rows_twice", "energy.zero"):
            self.assertNotIn(silent, self.found)

    def test_zeus(self):
        said, folder = self.peer("zeus")
        self.load(os.path.join(folder, "zeus.csv"), "zeus")
        self.assertEqual([w["name"] for w in self.shown["windows"]], ["first", "load"])
        self.value("energy", "gpu", said["gpu_j"], "declared", -1)
        for silent in ("rows.cut", "energy.negative", "energy.overlap", "energy.missing"):
            self.assertNotIn(silent, self.found)

    def test_carbontracker(self):
        said, folder = self.peer("carbontracker")
        (log,) = [os.path.join(at, f) for at, _, files in os.walk(folder) for f in files if f.endswith("_carbontracker.log")]
        self.load(log, "carbontracker")
        self.assertEqual(self.env["import.version"], said["version"])
        self.value("energy", "design", said["total_j"], "estimated", rel=1e-4)
        self.assertIn("1.58", self.found["energy.pue"]["evidence"])
        self.assertEqual(self.found["energy.gpu_mean"]["severity"], "error")  # of two GPUs it gives the mean
        self.assertEqual(self.results("energy", "gpu"), [])
        for silent in ("energy.pue_twice", "energy.parts"):
            self.assertNotIn(silent, self.found)


if __name__ == "__main__":
    if WHY:
        print(WHY)
        sys.exit(77)
    tap.main()

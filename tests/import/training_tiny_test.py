#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Import of MLPerf Training power and MLPerf Tiny energy: small results by hand, with the values worked out here."""
import json
import os
import shutil
import struct
import subprocess
import tempfile
import unittest

import tap

JOULEMARK = os.environ["JOULEMARK"]


def run(*args):
    return subprocess.run([JOULEMARK, *args], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)


class Import(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="training_tiny_test.")
        self.addCleanup(shutil.rmtree, self.dir)
        self.src = os.path.join(self.dir, "result")

    def write(self, name, data):
        path = os.path.join(self.src, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb" if isinstance(data, bytes) else "w") as f:
            f.write(data)

    def show(self, importer):
        out = os.path.join(self.dir, "r.jmr")
        p = run("import", self.src, "-o", out)
        self.assertEqual((p.returncode, p.stderr), (0, ""))
        text = os.path.join(self.dir, "r.json")
        if os.path.exists(text):
            os.unlink(text)
        p = run("export", out, "--format", "json", "-o", text)
        self.assertEqual(p.returncode, 0, p.stderr)
        with open(text, encoding="utf-8") as f:
            env = json.load(f)["environment"]
        env = env if isinstance(env, dict) else {e["key"]: e["value"] for e in env}
        self.assertEqual(env["import.kind"], importer)
        shown = json.loads(run("show", out, "--json").stdout)
        os.unlink(out)
        return shown, env

    def energies(self, shown, boundary):
        return [r["value"] for r in shown["results"] if r["metric"] == "energy" and r["boundary"] == boundary and "window" in r
                and r.get("trial") is not None]

    def training(self, seconds, kind="DC"):
        for i, (a, b) in enumerate(seconds):
            def line(t, key, value, meta=None):
                return ":::MLLOG " + json.dumps({"time_ms": int(t * 1000), "key": key, "value": value, "metadata": meta or {}}) + "\n"
            base = 1_728_509_000
            self.write(f"result_{i}.txt", "noise\n" + line(base + a - 5, "submission_benchmark", "bert") + line(base + a, "run_start", None)
                       + line(base + b, "run_stop", 0.7, {"status": "success"}))
            for part, watts, shift in (("node_0", 1000, 0), ("node_1", 3000, 0), ("sw_0", 500, -18001)):
                log = line(base + a - 3 + shift, "power_measurement_start", None)
                log += line(base + a - 3 + shift, "conversion_eff", 0.9, {"measurement_type": kind})
                for t in range(a - 2, b + 4):
                    log += line(base + t + shift, "power_reading", watts)
                    log += line(base + t + shift, "power_reading", watts) if t % 10 == 0 else ""  # the same stamp again
                self.write(f"power/result_{i}/{part}.txt", log + line(base + b + 3 + shift, "power_measurement_stop", None))

    def test_training(self):
        self.training([(100, 200), (300, 500)])
        shown, env = self.show("mlperf-training")
        self.assertEqual([w["name"] for w in shown["windows"]], ["result_0", "result_1"])
        # 4500 W over 100 s and 200 s; the switch's clock is moved by its time zone
        got = sorted(r["value"] for r in shown["results"] if r["metric"] == "energy" and r["boundary"] == "node"
                     and r.get("window") in ("result_0", "result_1"))
        for value, want in zip(got, (450000, 900000)):
            self.assertAlmostEqual(value, want, delta=1e-6 * want)
        self.assertTrue(got or any(r["metric"] == "energy" and abs(r["value"] - 675000) < 1 for r in shown["results"]))
        self.assertEqual(env["training.benchmark"], "bert")
        self.assertEqual(env["training.result_0.sw_0.clock_moved"], "18000.000000 s, a time zone")
        self.assertEqual(env["training.result_1.node_0.conversion_eff"], "0.90000000000000002")
        self.assertIn("training.readings_repeated", env)
        self.training([(100, 200)], "AC")  # read at the input of the supplies: the wall
        shutil.rmtree(os.path.join(self.src, "power", "result_1"))
        shown, env = self.show("mlperf-training")
        self.assertIn("1 of 2 runs", env["import.missing.runs"])
        self.assertTrue(any(r["metric"] == "energy" and r["boundary"] == "wall" and abs(r["value"] - 450000) < 1
                            for r in shown["results"]))

    def test_training_that_is_none(self):
        self.training([(100, 200)])
        self.write("result_0.txt", "nothing\n")
        p = run("import", self.src, "-o", os.path.join(self.dir, "r.jmr"))
        self.assertEqual(p.returncode, 4, p.stderr)
        self.assertIn("run_start", p.stderr)
        self.assertFalse(os.path.exists(os.path.join(self.dir, "r.jmr")))

    def test_tiny(self):
        # 2 uJ a sample at 1000 Hz are 2 mW; windows of 12 s and 11 s: 24 mJ and 22 mJ
        self.write("trace1-energy.bin", b"\xf1" + struct.pack("<f", 1000) + struct.pack("<30000f", *([2.0] * 30000)))
        self.write("trace1-timestamps.json", "[0.5, 1.0, 13.0, 15.0, 26.0]")
        self.write("log.txt", "1 session: m-session-start-id[20230512185857]\n2 io: [dut]: m-model-[kws01]\n3 m-infer-start-100\n"
                   "4 m-infer-start-110\n5 emon: m-regfile-fn[trace1-energy.bin]-type[emon]-name[lpm01a]\n")
        self.write("results.txt", "9 ulp-ml: Energy data for window 2 at time 1.00 for 12.00 sec.:\n9 ulp-ml:   Energy       :    "
                   "24000.000 uJ\n9 ulp-ml:   Energy/Inf.  :      240.000 uJ/inf.\n")
        shown, env = self.show("mlperf-tiny")
        self.assertEqual(env["tiny.model"], "kws01")
        self.assertEqual(len(shown["windows"]), 2)
        self.assertTrue(shown["windows"][0]["t0"].startswith("2023-05-12T18:58:58"))
        mean = [r["value"] for r in shown["results"] if r["metric"] == "energy" and r["boundary"] == "wall"]
        self.assertTrue(any(abs(v - 0.023) < 1e-6 for v in mean), mean)  # over both windows
        per = [r for r in shown["results"] if r["metric"] == "j_per.request_ok"]
        self.assertTrue(per and all(r["provenance"] == "declared" and abs(r["value"] - 240e-6) < 1e-12 for r in per))
        self.write("trace1-energy.bin", b"\x00" * 100)
        p = run("import", self.src, "-o", os.path.join(self.dir, "r.jmr"))
        self.assertEqual(p.returncode, 4, p.stderr)
        self.assertIn("0xf1", p.stderr)


    def test_trials_of_mlcommons_runner(self):
        """3 uJ a millisecond for 12 s is 36 mJ; the second trial 4 uJ, 48 mJ. Samples outside the edges do not count."""
        out = ["Power Edition Output"]
        trials = []
        for k in range(2):
            trials.append({"infer": {"iterations": 100}, "power": {
                "samples": [9e-6] * 40 + [(3 + k) * 1e-6] * 12000 + [9e-6] * 40,
                "timestamps": [["00", 40], ["01", 12040]], "voltage": 1.8}, "mode": "e"})
            out += [f"Energy data for trial {k}", "  Elapsed time  : 12.0", "  Inferences    : 100",
                    f"  Total Energy  : {(3 + k) * 12000:.3f} uJ", f"  Energy/Inf    : {(3 + k) * 120:.3f} uJ/inf"]
        self.write("results.json", json.dumps(trials))
        self.write("results.txt", "\n".join(out) + "\n")
        self.write("log.txt", "Logging initialized. Writing output to sessions\\20250725_190327\\log.txt\n"
                   "Device model retrieved: kws01\n")
        shown, env = self.show("mlperf-tiny")
        for got, want in zip(self.energies(shown, "wall"), (0.036, 0.048), strict=True):
            self.assertAlmostEqual(got, want, delta=1e-9)
        self.assertEqual((env["tiny.model"], env["tiny.supply"], env["tiny.samples"]), ("kws01", "1800 mV", "24160"))
        os.unlink(os.path.join(self.src, "results.json"))
        p = run("import", self.src, "-o", os.path.join(self.dir, "none.jmr"))
        self.assertEqual(p.returncode, 4, p.stderr)
        self.assertIn("has no results.json", p.stderr)


if __name__ == "__main__":
    tap.main()

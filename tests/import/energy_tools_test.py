#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Import and audit of what energy tools write: CodeCarbon, CarbonTracker, Zeus, ML.ENERGY, AI Energy Score. Made-up files in
the tools' own forms; what is right in them is worked out here by hand, and each fault is a file with and without it."""
import json
import os
import shutil
import subprocess
import tempfile
import unittest

import tap

JOULEMARK = os.environ["JOULEMARK"]


def run(*args):
    return subprocess.run([JOULEMARK, *args], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120)


class Files(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="energy_tools.")

    def tearDown(self):
        shutil.rmtree(self.dir)

    def write(self, name, what):
        path = os.path.join(self.dir, name)
        with open(path, "wb") as f:
            f.write(what if isinstance(what, bytes) else (what if isinstance(what, str) else json.dumps(what)).encode())
        return path

    def load(self, path, importer, *more):
        """Imports; self.found are findings by id, self.env the environment. The JSON of show."""
        out = os.path.join(self.dir, "r.jmr")
        p = run("import", path, "-o", out, "--force", "--json", *more)
        self.assertEqual((p.returncode, p.stderr), (0, ""))
        self.assertEqual(json.loads(p.stdout)["importer"], importer)
        p = run("show", out, "--json")
        self.assertIn(p.returncode, (0, 3), p.stderr)
        self.shown = json.loads(p.stdout)
        self.found = {f["id"]: f for f in self.shown["validity"]["findings"]}
        self.env = self.shown["run"]["environment"]
        return self.shown

    def results(self, metric, boundary):
        return [r for r in self.shown["results"] if r["metric"] == metric and r.get("boundary") == boundary and not r.get("slice")]

    def value(self, metric, boundary, value, provenance, window=0, rel=1e-6):
        r = self.results(metric, boundary)[window]
        self.assertAlmostEqual(r["value"] / value, 1, delta=rel)
        self.assertEqual(r["provenance"], provenance)

    def refused(self, path, *parts, more=()):
        out = os.path.join(self.dir, "no.jmr")
        p = run("import", path, "-o", out, *more)
        self.assertIn(p.returncode, (2, 4), (p.stdout, p.stderr))
        self.assertEqual(len(p.stderr.splitlines()), 1, p.stderr)
        for part in parts:
            self.assertIn(part, p.stderr)
        self.assertFalse(os.path.exists(out))


HEAD3 = ("timestamp,project_name,run_id,experiment_id,duration,emissions,emissions_rate,cpu_power,gpu_power,ram_power,cpu_energy,"
         "gpu_energy,ram_energy,energy_consumed,water_consumed,country_name,country_iso_code,region,cloud_provider,cloud_region,os,"
         "python_version,codecarbon_version,cpu_count,cpu_model,gpu_count,gpu_model,longitude,latitude,ram_total_size,tracking_mode,"
         "cpu_utilization_percent,gpu_utilization_percent,ram_utilization_percent,ram_used_gb,on_cloud,pue,wue").split(",")


def carbon(**change):
    """An hour at 750 W: 0.1 kWh of the CPU by RAPL, 0.63 of a GPU, 0.02 of modelled memory; France at 56 g/kWh."""
    row = dict(timestamp="2026-03-01T10:00:00", project_name="bench", run_id="a1", experiment_id="e", duration=3600, emissions=0.042,
               emissions_rate=0.042 / 3600, cpu_power=95.0, gpu_power=610.0, ram_power=20.0, cpu_energy=0.1, gpu_energy=0.63,
               ram_energy=0.02, energy_consumed=0.75, water_consumed=0, country_name="France", country_iso_code="FRA", region="",
               cloud_provider="", cloud_region="", os="Linux", python_version="3.11", codecarbon_version="3.3.2", cpu_count=64,
               cpu_model="Xeon", gpu_count=1, gpu_model="1 x NVIDIA H100", longitude=2, latitude=48, ram_total_size=512,
               tracking_mode="process", cpu_utilization_percent=1, gpu_utilization_percent=90, ram_utilization_percent=5,
               ram_used_gb=9, on_cloud="N", pue=1.0, wue=0)
    row.update(change)
    return row


def table(rows, head=None, sep=","):
    head = head or HEAD3
    return sep.join(head) + "\n" + "".join(sep.join(str(r[c]) for c in head) + "\n" for r in rows)


class CodeCarbon(Files):
    def audit(self, *rows, **kw):
        self.load(self.write("emissions.csv", table(rows, **kw)), "codecarbon")
        return self.found

    def test_energies(self):
        """0.63 kWh x 3.6e6 = 2.268 MJ of the GPU; 0.75 kWh = 2.7 MJ in all, which is no measurement."""
        self.audit(carbon())
        self.value("energy", "gpu", 2.268e6, "declared")
        self.value("energy", "design", 2.7e6, "estimated")
        self.assertEqual(self.shown["windows"][0]["t0"][:19], "2026-03-01T09:00:00")
        self.assertEqual(self.shown["windows"][0]["seconds"], 3600)
        self.assertIn("ram_energy", self.found["energy.modelled"]["evidence"])
        for silent in ("energy.pue", "energy.rows_twice", "energy.parts", "energy.machine", "energy.zero", "energy.negative", "carbon.mix"):
            self.assertNotIn(silent, self.found)

    def test_twice_and_so_far(self):
        """mlco2/codecarbon issue 1307; and flush(), whose rows are totals so far."""
        found = self.audit(carbon(), carbon(timestamp="2026-03-01T10:00:01"))
        self.assertIn("rows 1 and 2", found["energy.rows_twice"]["evidence"])
        self.assertEqual(len(self.shown["windows"]), 1)
        half = carbon(timestamp="2026-03-01T09:30:00", duration=1800, gpu_energy=0.3, cpu_energy=0.05, ram_energy=0.01, energy_consumed=0.36)
        found = self.audit(half, carbon(), carbon(run_id="b2", timestamp="2026-03-01T12:00:00"))
        self.assertIn("energy.cumulative", found)
        self.assertNotIn("energy.rows_twice", found)
        self.assertEqual(len(self.shown["windows"]), 2)
        self.value("energy", "gpu", 2.268e6, "declared")

    def test_pue(self):
        """PUE 1.5 in all parts: the boards took 0.945 / 1.5 = 0.63 kWh. Multiplied again: 1.125 x 1.5 = 1.6875."""
        once = carbon(cpu_energy=0.15, gpu_energy=0.945, ram_energy=0.03, energy_consumed=1.125, emissions=0.063, pue=1.5)
        found = self.audit(once)
        self.value("energy", "gpu", 2.268e6, "declared")
        self.assertIn("1.5", found["energy.pue"]["evidence"])
        self.assertNotIn("energy.pue_twice", found)
        found = self.audit(dict(once, energy_consumed=1.6875))
        self.assertEqual(found["energy.pue_twice"]["severity"], "error")

    def test_constants(self):
        """A CPU of 42.5 W x 3600 s = 0.0425 kWh to the last digit is half a TDP; RAPL does not count like that."""
        found = self.audit(carbon(cpu_power=42.5, cpu_energy=0.0425, energy_consumed=0.6925))
        self.assertIn("42.5 W x 3600 s", found["energy.modelled"]["evidence"])
        found = self.audit(carbon(cpu_power=300))  # the last sample, against a mean of 100 W
        self.assertIn("energy.last_power", found)
        # 3.x writes the mean of its samples: near the counter's energy / duration, and no constant. 630.1 W is 0.6301 kWh in an hour
        found = self.audit(carbon(gpu_power=630.0999573, cpu_power=100.0123456789))
        self.assertEqual(found["energy.modelled"]["evidence"].count("parts"), 0, found["energy.modelled"])
        # a tenth of 170 W and up with the cube of the load: no RAPL
        found = self.audit(carbon(cpu_power=17.000001224, cpu_energy=0.017, energy_consumed=0.667))
        self.assertIn("a TDP of 170 W", found["energy.modelled"]["evidence"])

    def test_versions_in_one_file(self):
        """Files of three versions one behind the other: each row by its own head. Without the heads a row that does not fit is out."""
        two = [c for c in HEAD3 if c not in ("experiment_id", "water_consumed", "wue") and not c.endswith(("_percent", "_gb"))]
        one = ["timestamp", "project_name", "duration", "emissions", "energy_consumed", "country_name", "country_iso_code"]
        rows = [carbon(run_id=r, timestamp=f"2026-03-0{d}T10:00:00") for d, r in enumerate("abc", 1)]
        text = table([rows[0]], two) + table([rows[1]]) + table([rows[2]], one)
        self.load(self.write("m.csv", text), "codecarbon")
        self.assertEqual([w["seconds"] for w in self.shown["windows"]], [3600] * 3)
        self.assertEqual([round(r["value"]) for r in self.results("energy", "design")], [2700000] * 3)
        self.assertEqual(len(self.results("energy", "gpu")), 2)
        self.assertNotIn("rows.cut", self.found)
        late = table([rows[0]], two) + table([dict(rows[1], experiment_id=7)]).splitlines()[1] + "\n"  # 7 would be the duration
        self.load(self.write("l.csv", late), "codecarbon")
        self.assertIn("row 2", self.found["rows.cut"]["evidence"])
        self.assertEqual(len(self.shown["windows"]), 1)

    def test_json(self):
        """The record as optimum-benchmark keeps it, alone and in a list: the same energies as in the table."""
        self.load(self.write("prefill_codecarbon.json", carbon(os='Linux, "6"')), "codecarbon")
        self.value("energy", "gpu", 2.268e6, "declared")
        self.value("energy", "design", 2.7e6, "estimated")
        self.load(self.write("l.json", [carbon(), carbon(run_id="b2", gpu_energy=None, energy_consumed=0.12)]), "codecarbon")
        self.assertEqual(len(self.shown["windows"]), 2)
        self.assertEqual(len(self.results("energy", "gpu")), 1)
        self.refused(self.write("n.json", '{"energy_consumed": 1, "emissions": '), "JSON", more=("--from", "codecarbon"))

    def test_many_rows(self):
        """Ten thousand runs of one project: each its own trial, none looked for among all the others."""
        head = ["timestamp", "project_name", "run_id", "duration", "emissions", "gpu_energy", "energy_consumed", "gpu_count"]
        text = table([], head) + "".join(f"2026-03-{1 + i // 1440:02d}T{i // 60 % 24:02d}:{i % 60:02d}:00,p,{i},30,0.1,0.001,0.0{i % 9 + 1},1\n"
                                         for i in range(10000))
        out = os.path.join(self.dir, "r.jmr")
        p = run("import", self.write("many.csv", text), "-o", out)
        self.assertEqual((p.returncode, p.stderr), (0, ""))
        p = run("audit", out, "--json")
        self.assertIn(p.returncode, (0, 1, 3), p.stderr)

    def test_values(self):
        self.assertEqual(self.audit(carbon(cpu_energy=-0.1, energy_consumed=0.55))["energy.negative"]["severity"], "error")
        self.assertEqual(self.audit(carbon(cpu_energy=0, gpu_energy=0, ram_energy=0, energy_consumed=0, emissions=0))
                         ["energy.zero"]["severity"], "error")
        self.assertEqual(self.audit(carbon(energy_consumed=0.9))["energy.parts"]["severity"], "error")
        self.assertIn("energy.missing", self.audit(carbon(energy_consumed="nan")))
        self.assertIn("energy.missing", self.audit(carbon(energy_consumed="1e400")))
        found = self.audit(carbon(gpu_count="", gpu_model="", gpu_energy=0, energy_consumed=0.12, tracking_mode="machine"))
        self.assertIn("energy.without_gpu", found)
        self.assertIn("energy.machine", found)
        self.assertEqual(self.results("energy", "gpu"), [])  # not 0 J

    def test_primary_energy(self):
        """mlco2/codecarbon issue 211: 424.584 g/kWh for France: 0.75 kWh would be 318.4 g instead of 42 g."""
        found = self.audit(carbon(emissions=0.424584 * 0.75))
        self.assertIn("FRA: 424.6 g/kWh", found["carbon.mix"]["evidence"])
        self.assertIn("primary energy", found["carbon.mix"]["text"])
        self.assertIn("carbon.mix", self.audit(carbon(emissions=0)))

    def test_generations(self):
        """2.1's columns, 1.x's columns, tasks; semicolons with decimal commas; a mark, CRLF; a row that lost its empty columns."""
        two = [c for c in HEAD3 if c not in ("experiment_id", "water_consumed", "wue") and not c.endswith(("_percent", "_gb"))]
        self.audit(carbon(), head=two)
        self.value("energy", "gpu", 2.268e6, "declared")
        one = ["timestamp", "project_name", "duration", "emissions", "energy_consumed", "country_name", "country_iso_code"]
        self.audit(carbon(), head=one)
        self.value("energy", "design", 2.7e6, "estimated")
        self.assertIn("no parts", self.found["energy.modelled"]["evidence"])
        self.assertNotIn("energy.without_gpu", self.found)  # the total held it; the file does not say how much
        self.audit(carbon(), carbon(), carbon(duration=3601), head=one)  # no run_id: what is the same is one run
        self.assertIn("rows 1 and 2", self.found["energy.rows_twice"]["evidence"])
        self.assertEqual(len(self.shown["windows"]), 2)
        tasks = [dict(carbon(), task_name="load"), dict(carbon(), task_name="generate")]
        self.load(self.write("t.csv", table(tasks, ["task_name", *HEAD3])), "codecarbon")
        self.assertEqual(len(self.shown["windows"]), 2)
        rows = [{k: str(v).replace(".", ",") if k.endswith(("energy", "_consumed", "emissions")) else v for k, v in carbon().items()}]
        text = "\ufeff" + table(rows, sep=";").replace("\n", "\r\n")
        self.load(self.write("de.csv", text), "codecarbon")
        self.value("energy", "gpu", 2.268e6, "declared")
        cut = table([carbon(), carbon(run_id="b2")]).splitlines()
        cut[2] = cut[2].replace(",,,,", ",")
        self.load(self.write("s.csv", "\n".join(cut)), "codecarbon")
        self.assertIn("rows.cut", self.found)
        self.value("energy", "gpu", 2.268e6, "declared", window=1)

    def test_not_usable(self):
        head = ",".join(HEAD3)
        self.refused(self.write("h.csv", head + "\n"), "no row")
        self.refused(self.write("e.csv", b""), "empty")
        self.refused(self.write("q.csv", head + '\n"2026'), "never ends")
        self.refused(self.write("n.csv", table([carbon()]).replace("energy_consumed", "energy")), "energy_consumed",
                     more=("--from", "codecarbon"))
        self.refused(self.write("w.csv", table([carbon()])), "number 3", more=("--select", "3"))


STANDARD = """{s} - carbontracker version {v}
{s} - Only predicted and actual consumptions are multiplied by a PUE coefficient of {pue} (a survey).
{s} - The following components were found: GPU with device(s) {gpus}. CPU with device(s) {cpu}.
{s} - Monitoring thread started.
{s} - Epoch 1:
{s} - Duration: 0:01:00.00
{s} - Average power usage (W) for gpu: {w}
{s} - Average power usage (W) for cpu: {c}
{s} - Epoch 2:
{s} - Duration: 0:01:00.00
{s} - Average power usage (W) for gpu: {w}
{s} - Average power usage (W) for cpu: {c}
{s} - Average carbon intensity during training was 102.01 gCO2/kWh at detected location: Copenhagen, DK.
"""
OUTPUT = """{s} - CarbonTracker: 
Predicted consumption for 100 epoch(s):
\tTime:\t1:40:00
\tEnergy:\t{p:.12f} kWh
\tCO2eq:\t1.000000 g
\tThis is equivalent to:
\t0.754 km travelled by car
{s} - CarbonTracker: 
Actual consumption for 2 epoch(s):
\tTime:\t0:02:00
\tEnergy:\t{a:.12f} kWh
\tCO2eq:\t{g:.6f} g
{s} - CarbonTracker: Finished monitoring.
"""


class CarbonTracker(Files):
    """Two epochs of 60 s: GPUs 136 + 114 W, a CPU 50 W: 300 W x 120 s = 36 kJ = 0.01 kWh; x 1.58 = 0.0158 kWh."""

    def pair(self, stamp="2022-11-14 15:43:44", w="[136.0 114.0]", c="[50.0]", gpus="RTX 3060, RTX 3060", cpu="cpu:0", pue="1.58",
             actual=0.0158, version="1.1.6", output=True, standard=True, name="x"):
        text = STANDARD.format(s=stamp, v=version, pue=pue, gpus=gpus, cpu=cpu, w=w, c=c)
        said = OUTPUT.format(s=stamp, a=actual, p=actual * 50, g=actual * 102.01)
        a = self.write(name + "_carbontracker.log", text) if standard else None
        b = self.write(name + "_carbontracker_output.log", said) if output else None
        return a, b

    def test_pair(self):
        for path in self.pair():
            self.load(path, "carbontracker")
            self.value("energy", "gpu", 30000, "declared")  # 250 W x 120 s
            self.value("energy", "design", 0.0158 * 3.6e6, "estimated")
            self.assertIn("1.58", self.found["energy.pue"]["evidence"])
            self.assertIn("100 epochs, 2 measured", self.found["energy.predicted"]["evidence"])
            for silent in ("energy.pue_twice", "energy.parts", "energy.gpu_mean", "energy.modelled", "energy.without_gpu"):
                self.assertNotIn(silent, self.found)

    def test_first_generation(self):
        """Commas before milliseconds, threads and levels in the line; no line about the PUE: it follows from the energy."""
        a, _ = self.pair(stamp="2020-10-07 11:11:11,123 - MainThread - INFO", actual=0.0158)
        with open(a, encoding="utf-8") as f:
            text = "".join(line for line in f if "PUE" not in line)
        self.load(self.write("x_carbontracker.log", text), "carbontracker")
        self.value("energy", "gpu", 30000, "declared")
        self.assertIn("1.58", self.found["energy.pue"]["evidence"])

    def test_mean_over_devices(self):
        """Version 1.2.6 on: two GPUs, one number: 125 W is their mean. Its energy is not given out as that of the boards."""
        a, _ = self.pair(w="125.0", c="50.0", version="2.4.7", actual=175 * 120 / 3.6e6 * 1.58)
        self.load(a, "carbontracker")
        self.assertEqual(self.found["energy.gpu_mean"]["severity"], "error")
        self.assertEqual(self.results("energy", "gpu"), [])
        a, _ = self.pair(w="250.0", c="50.0", gpus="RTX 3060", version="2.4.7")
        self.load(a, "carbontracker")
        self.assertNotIn("energy.gpu_mean", self.found)
        self.value("energy", "gpu", 30000, "declared")

    def test_faults(self):
        a, _ = self.pair(actual=0.01 * 1.58 * 1.58, name="twice")
        self.load(a, "carbontracker")
        self.assertIn("energy.pue_twice", self.found)
        a, _ = self.pair(cpu="AMD Ryzen 9 5950X", name="tdp")
        self.load(a, "carbontracker")
        self.assertIn("half its TDP", self.found["energy.modelled"]["evidence"])
        a, _ = self.pair(w="None", actual=50 * 120 / 3.6e6 * 1.58, name="short")  # too short for one look: counted as 0 W
        self.load(a, "carbontracker")
        self.assertIn("energy.short", self.found)
        _, b = self.pair(actual=0.0, standard=False, name="zero")  # saintslab/carbontracker issue 33
        self.load(b, "carbontracker")
        self.assertIn("energy.zero", self.found)
        a, _ = self.pair(cpu="CPU", name="mac")
        self.load(a, "carbontracker")
        self.assertIn("powermetrics", self.found["energy.modelled"]["evidence"])
        # one of two epochs has no power of the GPU: 250 W x 60 s are not the energy of the run
        a, _ = self.pair(name="half")
        with open(a, encoding="utf-8") as f:
            text = f.read().replace("for gpu: [136.0 114.0]", "for gpu: None", 1)
        self.load(self.write("half_carbontracker.log", text), "carbontracker")
        self.assertEqual(self.results("energy", "gpu"), [])
        self.assertIn("energy.short", self.found)

    def test_standard_output(self):
        """What the tool prints: the components stand there, the PUE does not, and is in the energy all the same."""
        said = ("CarbonTracker: The following components were found: GPU with device(s) RTX 2060.\nCarbonTracker: \n"
                "Actual consumption for 3 epoch(s):\n\tTime:\t0:00:15\n\tEnergy:\t0.000186 kWh\n\tCO2eq:\tnan g\n")
        self.load(self.write("out.log", said), "carbontracker")
        self.value("energy", "design", 0.000186 * 3.6e6, "estimated")
        self.assertIn("does not name it", self.found["energy.pue"]["evidence"])
        self.assertNotIn("energy.without_gpu", self.found)
        self.assertIn("energy.without_host", self.found)
        self.load(self.write("cut.log", said.split("\n", 1)[1]), "carbontracker")
        self.assertNotIn("energy.without_gpu", self.found)  # the head of the log is not there
        self.refused(self.write("n_carbontracker.log", "2022-11-14 15:42:43 - carbontracker version 1.1.6\n"), "no epoch")


class Zeus(Files):
    HEAD = "start_time,window_name,elapsed_time,gpu0_energy,gpu1_energy\n"

    def windows(self, *rows):
        self.load(self.write("z.csv", self.HEAD + "\n".join(rows) + "\n"), "zeus")
        return self.found

    def test_windows(self):
        found = self.windows("1700000000.5,step,10.0,3000.0,2000.5", "1700000020.5,step,5.0,1000.0,500.0")
        self.value("energy", "gpu", 5000.5, "declared", 0)
        self.value("energy", "gpu", 1500, "declared", 1)
        self.assertEqual(self.shown["windows"][0]["t0"], "2023-11-14T22:13:20.500000000Z")
        for silent in ("energy.overlap", "energy.short", "energy.negative", "rows.cut", "energy.missing"):
            self.assertNotIn(silent, found)
        self.assertIn("energy.without_host", found)

    def test_faults(self):
        rows = ["1700000000.5,all,10.0,3000.0,2000.0", "1700000002.5,step,0.05,0.0,12.0", "1700000020.5,late,5.0,-100.5,12.0",
                "1700000030.5,some,10.0,,5.0", "1700000050.5,cut"]
        found = self.windows(*rows)
        self.assertIn("step", found["energy.overlap"]["evidence"])
        self.assertIn("0.05 s", found["energy.short"]["evidence"])
        self.assertIn("-100.5 J", found["energy.negative"]["evidence"])
        self.assertIn('"some", GPU 0', found["energy.missing"]["evidence"])
        self.assertIn("rows.cut", found)
        self.assertEqual(len(self.results("energy", "gpu")), 3)  # no total for the window without a GPU
        found = self.windows("1700000000.5,unit,10.0,30000000.0,2000.0")
        self.assertIn("energy.power", found)  # 3 MW

    def test_steps(self):
        """60 W for 100 s, then 700: 6 kJ, not the 38 kJ of a straight line (and 0.1 s on the way up: 38 J)."""
        self.load(self.write("p.csv", "time,power0\n1700000000.0,60.0\n1700000100.0,700.0\n1700000100.1,650.0\n1700000100.2,640.0\n"), "zeus")
        self.value("energy", "gpu", 6000 + 38 + 67.5 + 64.5, "measured", rel=0.012)
        self.assertIn("38132 J by straight lines", self.found["energy.dedup"]["evidence"])
        # with repeats in the file nothing was left out, and nothing is put in
        rows = "".join(f"{1700000000 + i / 10:.1f},{100 + i // 100 * 100},100\n" for i in range(300))
        self.load(self.write("r.csv", "time,gpu0_power,gpu1_power\n" + rows), "zeus")
        self.assertNotIn("energy.dedup", self.found)
        self.value("energy", "gpu", 200 * 29.9 + 100 * 29.9, "measured", rel=0.01)

    def test_rows_of_samples(self):
        rows = "".join(f"{1700000000 + i / 10:.1f},{g},{1000 * (100 + 50 * g + i % 2)}\n" for i in range(200) for g in (0, 1))
        self.load(self.write("l.csv", "timestamp,gpu_index,power_mw\n" + rows), "zeus")
        self.value("energy", "gpu", 251 * 19.9, "measured", rel=0.01)

    def test_first_monitor(self):
        """"Time,Power" is anybody's: taken for a GPU's only where that is said. Several columns are PowerMonitor's."""
        rows = "".join(f"2022-06-14 10:00:{i // 10:02d}.{i % 10}00000,{100 + i % 2}.5,200\n" for i in range(200))
        self.load(self.write("a.csv", "Time,Power0,Power1\n" + rows), "zeus")
        self.value("energy", "gpu", 301 * 19.9, "measured", rel=0.01)
        one = self.write("b.csv", "Time,Power\n" + rows.replace(",200\n", "\n"))
        self.refused(one, "Power")
        self.load(one, "zeus", "--from", "zeus")
        self.value("energy", "gpu", 101 * 19.9, "measured", rel=0.01)

    def test_json(self):
        """A Measurement of two GPUs: 2500 + 2600 J in 12.5 s; and two power limits."""
        m = {"time": 12.5, "gpu_energy": {"0": 2500.0, "1": 2600.0}, "cpu_energy": {"0": 800.0}, "dram_energy": None, "soc_energy": None}
        self.load(self.write("m.json", m), "zeus")
        self.value("energy", "gpu", 5100, "declared")
        self.assertEqual(self.shown["windows"][0]["seconds"], 12.5)
        self.assertIn("800 J", self.found["energy.unused"]["evidence"])
        self.load(self.write("p.json", {"measurements": [{"power_limit": 400, "energy": 14000.5, "time": 40.0},
                                                         {"power_limit": 300, "energy": 11000.5, "time": 45.0}]}), "zeus")
        self.assertEqual([w["name"] for w in self.shown["windows"]], ["power limit 400 W", "power limit 300 W"])
        self.value("energy", "gpu", 11000.5, "declared", 1)
        # the energy of a limit is that of all GPUs (Measurement.total_energy): 3200 W are eight, and no more than one can draw
        self.load(self.write("p8.json", {"measurements": [{"power_limit": 400, "energy": 128000.5, "time": 40.0}]}), "zeus")
        self.assertNotIn("import.gpus", self.env)
        self.assertNotIn("energy.power", self.found)
        m["gpu_energy"]["1"] = None
        self.load(self.write("n.json", m), "zeus")
        self.assertEqual(self.results("energy", "gpu"), [])
        self.assertIn("energy.missing", self.found)

    def test_not_usable(self):
        self.refused(self.write("n.csv", self.HEAD), "no window")
        self.refused(self.write("o.csv", "time,power0\n1700000000.0,60.0\n"), "at two times")


class MlEnergy(Files):
    def doc(self):
        """100 requests of 200 + 900 tokens in 100 s, 60 s of them steady: 500 W there, 375 W around: 30 + 15 = 45 kJ;
        30 kJ / 0.5 = 60,000 tokens."""
        gpu = {"gpu_energy": {"0": 30000.0}, "cpu_energy": None, "dram_energy": None, "soc_energy": None}
        t = 1.7e9
        return {
            "date": "20260301-100000", "endpoint_type": "openai-chat", "model_id": "Qwen/Qwen3-14B", "num_prompts": 100, "seed": 1,
            "gpu_model": "H100", "num_gpus": 1, "max_num_seqs": 16, "request_rate": "inf", "burstiness": 1.0, "duration": 100.0,
            "completed": 100, "steady_state_duration": 60.0, "steady_state_energy": 30000.0, "steady_state_energy_per_token": 0.5,
            "total_input_tokens": 20000, "total_output_tokens": 90000, "request_throughput": 1.0, "output_throughput": 900.0,
            "total_token_throughput": 1100.0, "mean_ttft_ms": 100.0, "p99_ttft_ms": 100.0,
            "steady_state_measurement": {"time": 60.0, **gpu},
            "entire_benchmark_measurement": {"time": 100.0, **gpu, "gpu_energy": {"0": 45000.0}},
            "timeline": {"benchmark_start_time": t, "benchmark_end_time": t + 100, "steady_state_start_time": t + 20,
                         "steady_state_end_time": t + 80,
                         "power": {"device_instant": {"0": [[t, 375.0], [t + 0.1, 375.5], [t + 20, 500.0], [t + 80, 375.0]]}}},
            "results": [{"prompt": "p", "output_text": "o", "input_len": 200, "output_len": 900, "latency": 9.1, "ttft": 0.1,
                         "itl": [0.01] * 899, "success": True, "error": "", "energy": 450.0} for _ in range(100)]}

    def test_images(self):
        """Two batches of four images: 200 J in 10 s, 240 J in 12 s; and the first leaderboard's file of one batch."""
        doc = {"model_id": "m", "batch_size": 4, "iteration_energy_measurements": [
            {"time": 10.0, "gpu_energy": {"0": 150.0, "1": 50.0}}, {"time": 12.0, "gpu_energy": {"0": 240.0, "1": 0.0}}]}
        self.load(self.write("results.json", doc), "ml-energy")
        self.assertEqual([w["seconds"] for w in self.shown["windows"]], [10, 12])
        self.value("energy", "gpu", 200, "declared", 0)
        self.value("energy", "gpu", 240, "declared", 1)
        self.load(self.write("bs1.json", {"Model": "m", "GPU model": "A100", "Batch size": 1, "Batch latency (s)": 6.5,
                                          "Batch energy (J)": 1300.0, "Energy per image (J)": 1300.0}), "ml-energy")
        self.assertEqual(self.shown["windows"][0]["seconds"], 6.5)
        self.value("energy", "gpu", 1300, "declared")
        for joules, fault in ((-1300.0, "energy.negative"), (1e300, "energy.power")):
            self.load(self.write("bs2.json", {"Model": "m", "GPU model": "A100", "Batch size": 1, "Batch energy (J)": joules}), "ml-energy")
            self.assertEqual(self.found[fault]["severity"], "error")

    def test_time_of_the_measurement(self):
        """No duration: that of the measurement stands for it, and without one no power is made up."""
        doc = {"completed": 4, "steady_state_energy": 9000.0, "steady_state_energy_per_token": 0.5,
               "entire_benchmark_measurement": {"time": 52.2, "gpu_energy": {"0": 9000.0}}}
        self.load(self.write("a.json", doc), "ml-energy")
        self.assertEqual(self.shown["windows"][0]["seconds"], 52.2)
        del doc["entire_benchmark_measurement"]["time"]
        self.load(self.write("b.json", doc), "ml-energy")
        for silent in ("energy.power", "window.short"):
            self.assertNotIn(silent, self.found)
        doc["duration"] = 60.0  # of the whole: how long the steady state took is not said by it
        self.load(self.write("c.json", doc), "ml-energy")
        self.assertEqual(self.shown["windows"][0]["seconds"], 60)
        self.assertLess(self.shown["windows"][1]["seconds"], 1e-6)

    def test_results(self):
        """The counters' energy beside that of the samples, each held until the next: 375.5 x 19.9 + 500 x 60 + 375 x 20.1."""
        self.load(self.write("results.json", self.doc()), "ml-energy")
        self.value("energy", "gpu", 45000, "measured", 0, rel=0.002)
        self.value("j_per.output_token", "gpu", 0.5, "measured", 0, rel=0.002)  # 45 kJ / 90,000
        self.value("energy", "gpu", 30000, "measured", 1, rel=0.002)
        said = [r for r in self.results("j_per.output_token", "gpu") if r["provenance"] == "declared"]
        self.assertEqual([r["value"] for r in said], [0.5])
        self.assertEqual(self.shown["requests"]["ok"], 100)
        for there in ("energy.latency_window", "energy.allocated", "energy.denominator", "energy.without_host", "energy.dedup"):
            self.assertIn(there, self.found)
        for silent in ("claim.differs", "sums", "energy.window", "energy.steady_short", "energy.parts", "energy.tokens_floor"):
            self.assertNotIn(silent, self.found)

    def changed(self, **change):
        d = self.doc()
        del d["timeline"]["power"]
        d.update(change)
        self.load(self.write("results.json", d), "ml-energy")
        return self.found

    def test_faults(self):
        self.assertIn("energy.steady_short", self.changed(steady_state_duration=12.0))
        self.assertIn("energy.tokens_floor", self.changed(steady_state_energy_per_token=30000.0))
        self.assertIn("energy.parts", self.changed(entire_benchmark_measurement={"time": 100.0, "gpu_energy": {"0": 20000.0}}))
        self.assertIn("energy.negative", self.changed(steady_state_measurement={"time": 60.0, "gpu_energy": {"0": -5.0}}))
        found = self.changed(entire_benchmark_measurement={"time": 100.0, "gpu_energy": {"0": 45000.0, "1": None}})
        self.assertIn("gpu1", found["energy.missing"]["evidence"])  # one GPU's is not that of both
        self.assertFalse([r for r in self.results("energy", "gpu") if r["provenance"] == "declared" and r["value"] == 45000])
        found = self.changed(steady_state_measurement={"time": 60.0, "gpu_energy": {"0": 30000.0}, "cpu_energy": {"0": 4000.0}})
        self.assertIn("4000 J", found["energy.unused"]["evidence"])
        self.assertNotIn("energy.without_host", found)

    def test_leaderboard(self):
        c = {"model_id": "Qwen/Qwen3-14B", "gpu_model": "H100", "num_gpus": 1, "max_num_seqs": 16, "energy_per_token_joules": 0.5,
             "energy_per_request_joules": 3000.0, "avg_output_len": 6000.0, "avg_power_watts": 450.0,
             "output_throughput_tokens_per_sec": 900.0, "median_itl_ms": 17.0, "p95_itl_ms": 19.0, "avg_batch_size": 15.9}
        self.load(self.write("gpqa.json", {"task": "gpqa", "configurations": [c, dict(c, max_num_seqs=32)]}), "ml-energy")
        self.value("j_per.output_token", "gpu", 0.5, "declared", 1)
        self.assertNotIn("sums", self.found)
        self.assertNotIn("window.short", self.found)
        self.load(self.write("m.json", {"model_id": "Qwen/Qwen3-14B", "task": "gpqa", "configurations": [dict(c, avg_power_watts=800.0)]}), "ml-energy")
        self.assertIn("450 against 800", self.found["sums"]["evidence"])
        self.load(self.write("b.json", {"Model": "x", "GPU model": "A100", "Batch size": 1, "Batch latency (s)": 2.0, "Batch energy (J)": 800.0,
                                        "Energy per image (J)": 800.0}), "ml-energy")
        self.value("energy", "gpu", 800, "declared")
        # the first leaderboard: means over requests; 20 tokens/s x 12 s are 240 tokens, the mean length is 265
        head = "model,throughput,response_length,latency,energy\n"
        self.load(self.write("A100_chat_benchmark.csv", head + "a/b,20.0,265.0,12.0,2120.0\nc/d,25.0,250.0,10.0,1250.0\n"), "ml-energy")
        self.value("j_per.output_token", "gpu", 8.0, "declared", 0)
        self.value("j_per.request_ok", "gpu", 1250.0, "declared", 1)
        self.assertIn("240 tokens, the mean length is 265", self.found["energy.mean_of_means"]["evidence"])
        self.load(self.write("x_benchmark.csv", head + "c/d,25.0,250.0,10.0,1250.0\n"), "ml-energy")
        self.assertNotIn("energy.mean_of_means", self.found)
        self.refused(self.write("i.json", {"last_updated": "x", "tasks": ["gpqa"], "models": {}}), "index")


class LoneNumber(Files):
    def test_watt_hours(self):
        """0.25 Wh = 900 J, of which the last digit is 4 %; 0.00 is what is written where it failed."""
        self.load(self.write("GPU_ENERGY_WH.txt", "0.25\n"), "ai-energy-score")
        self.value("energy", "gpu", 900, "declared")
        self.assertIn("4 %", self.found["energy.rounded"]["evidence"])
        self.load(self.write("GPU_ENERGY_WH.txt", "0.00"), "ai-energy-score")
        self.assertEqual(self.found["energy.zero"]["severity"], "error")
        self.refused(self.write("n.txt", "0.25\n"), "nothing that can be imported")


class Optimum(Files):
    def doc(self, decode=0.12, tokens=999000):
        """1000 queries of up to 1000 tokens: prefill 0.075 kWh of the GPU = 270 kJ, decode 0.12 = 432 kJ."""
        def phase(gpu, per, unit):
            total = gpu + 0.005 + 0.002
            return {"memory": None, "latency": None, "throughput": None, "energy": {"unit": "kWh", "cpu": 0.005, "ram": 0.002, "gpu": gpu,
                    "total": total}, "efficiency": {"unit": unit, "value": per / total}}
        report = {"load_model": dict(phase(0.001, 1, ""), efficiency=None), "prefill": phase(0.075, 1000, "samples/kWh"),
                  "decode": phase(decode, tokens, "tokens/kWh")}
        return {"config": {"backend": {"name": "pytorch", "model": "m/x"}, "environment": {"gpu_count": 1},
                           "scenario": {"name": "energy_star", "num_samples": 1000, "generate_kwargs": {"max_new_tokens": 1000}}},
                "report": report}

    def test_phases(self):
        self.load(self.write("benchmark.json", self.doc()), "optimum-benchmark")
        self.assertEqual([w["name"] for w in self.shown["windows"]], ["load_model", "prefill", "decode"])
        self.value("energy", "gpu", 270e3, "declared", 1)
        self.value("energy", "gpu", 432e3, "declared", 2)
        self.value("energy", "design", 0.127 * 3.6e6, "estimated", 2)
        self.assertIn("999000 tokens", self.found["energy.denominator"]["evidence"])  # 1000 x (1000 - 1): assumed
        self.assertIn("watts a DIMM", self.found["energy.modelled"]["evidence"])
        self.load(self.write("benchmark_report.json", self.doc(decode=-0.01, tokens=700000)["report"]), "optimum-benchmark")
        self.assertIn("less a prefill", self.found["energy.negative"]["evidence"])
        self.assertNotIn("energy.denominator", self.found)
        self.assertNotIn("energy.parts", self.found)
        d = self.doc()
        d["report"]["prefill"]["energy"]["ram"] = None  # then the others are no sum, and contradict nothing
        self.load(self.write("part.json", d), "optimum-benchmark")
        self.assertNotIn("energy.parts", self.found)


class AiEnergyScore(Files):
    HEAD = ["model_name", "model_class", "task", "reasoning_state", "total_prompts", "successful_prompts", "failed_prompts",
            "total_duration_seconds", "avg_total_time", "avg_time_to_first_token", "total_tokens", "total_prompt_tokens",
            "total_completion_tokens", "throughput_tokens_per_second", "gpu_energy_wh", "wh_per_1000_queries",
            "energy_per_prompt_min_wh", "energy_per_prompt_max_wh", "energy_per_prompt_std_wh", "co2_emissions_g", "tokens_per_joule",
            "avg_energy_per_prompt_wh", "timestamp", "error_message"]

    def row(self, **change):
        """1000 prompts, 50 Wh = 180 kJ, 100,000 output and 50,000 prompt tokens: 1.8 J per output token, 1.2 per token."""
        v = dict.fromkeys(self.HEAD, "0.0000")
        v.update(model_name="openai/gpt-oss-20b", model_class="B", task="text_gen", reasoning_state="On", total_prompts=1000,
                 successful_prompts=1000, failed_prompts=0, total_duration_seconds="900.00", avg_total_time="0.9000",
                 total_tokens=150000, total_prompt_tokens=50000, total_completion_tokens=100000, gpu_energy_wh="50.0000",
                 wh_per_1000_queries="50.0000", tokens_per_joule="0.8333", avg_energy_per_prompt_wh="0.0500",
                 timestamp="2025-10-20T10:00:00.123456", error_message="")
        v.update(change)
        return v

    def rows(self, *rows):
        self.load(self.write("master_results.csv", table(rows, self.HEAD)), "ai-energy-score")
        return self.found

    def test_results(self):
        found = self.rows(self.row())
        self.value("energy", "gpu", 180000, "declared")
        self.value("j_per.request_ok", "gpu", 180, "declared")  # 50 Wh of 1000
        self.value("j_per.output_token", "gpu", 1.8, "declared")
        self.value("j_per.total_token", "gpu", 1.2, "declared")
        self.assertIn("of output tokens 0.5556", found["energy.denominator"]["evidence"])
        for silent in ("sums", "energy.rounded", "energy.zero", "requests.left_out", "energy.window"):
            self.assertNotIn(silent, found)
        self.assertEqual(self.results("tokens_per_j", "gpu"), [])  # it counts prompt tokens too

    def test_faults(self):
        found = self.rows(self.row(), self.row(model_name="x/y", successful_prompts=0, error_message="Model not found"))
        self.assertIn("Model not found", found["requests.left_out"]["evidence"])
        self.assertIn("energy.zero", self.rows(self.row(gpu_energy_wh="0.0000", wh_per_1000_queries="0.0000", tokens_per_joule="0.0000")))
        self.assertIn("energy.rounded", self.rows(self.row(gpu_energy_wh="0.0021", wh_per_1000_queries="0.0021")))
        self.assertIn("sums", self.rows(self.row(wh_per_1000_queries="80.0000")))
        found = self.rows(self.row(successful_prompts=500, failed_prompts=500, wh_per_1000_queries="100.0000"))
        self.assertIn("energy.per_success", found)
        self.refused(self.write("f.csv", table([self.row(successful_prompts=0, error_message="no")], self.HEAD)), "no result")

    def test_summary_and_leaderboard(self):
        self.load(self.write("GPU_ENERGY_SUMMARY.json", {"units": "Wh", "total": 50.0, "preprocess_wh": 1.0, "prefill_wh": 9.0, "decode_wh": 40.0}),
                  "ai-energy-score")
        self.value("energy", "gpu", 180000, "declared")
        self.assertNotIn("energy.parts", self.found)
        self.load(self.write("s.json", {"units": "Wh", "total": 50.0, "prefill_wh": 60.0, "decode_wh": -2.0}), "ai-energy-score")
        self.assertIn("energy.parts", self.found)
        self.assertIn("energy.negative", self.found)
        self.load(self.write("u.json", {"units": "W", "total": 50.0, "prefill_wh": 10.0, "decode_wh": 40.0}), "ai-energy-score")
        self.assertIn("energy.unit", self.found)
        self.load(self.write("t.csv", "model,total_gpu_energy,energy_score\nm/a,0.0021,4\nm/b,0.05,1\n"), "ai-energy-score")
        self.value("j_per.request_ok", "gpu", 0.0021 * 3600, "declared")  # kWh a thousand


if __name__ == "__main__":
    tap.main()

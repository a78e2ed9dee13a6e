#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Import of device logs: nvidia-smi, amd-smi, rocm-smi, hl-smi, xpu-smi, dcgmi, Prometheus. Made-up files whose energy is worked out
here; forms of real output (utkuozdemir/nvidia_gpu_exporter's captures, MIT; dcgmi/ProcessStats.cpp; ROCm/rocm_smi_lib issue
160) retyped as far as their layout goes."""
import json
import os
import random
import shutil
import subprocess
import tempfile
import unittest
from datetime import datetime, timedelta, timezone

import tap

JOULEMARK = os.environ["JOULEMARK"]
T0 = datetime(2024, 5, 30, 10, 15, 20)
UNIX = 1717064120  # T0 as UTC


def run(*args):
    return subprocess.run([JOULEMARK, *args], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120)


class Files(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="devices_test.")

    def tearDown(self):
        shutil.rmtree(self.dir)

    def write(self, name, what):
        path = os.path.join(self.dir, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(what if isinstance(what, str) else json.dumps(what))
        return path

    def load(self, path, importer, *more):
        out = os.path.join(self.dir, "r.jmr")
        p = run("import", path, "-o", out, "--force", "--json", *more)
        self.assertEqual((p.returncode, p.stderr), (0, ""))
        self.assertEqual(json.loads(p.stdout)["importer"], importer)
        p = run("show", out, "--json")
        self.assertIn(p.returncode, (0, 3), p.stderr)
        show = json.loads(p.stdout)
        self.assertIn(run("audit", out).returncode, (0, 1))
        self.findings = {f["id"]: f for f in show["validity"]["findings"]}
        self.show = show
        self.env = show["run"]["environment"]
        return show

    def energy(self, boundary="gpu"):
        r = [x for x in self.show["results"] if x["metric"] == "energy" and x.get("boundary") == boundary
             and x["provenance"] != "estimated"]
        self.assertEqual(len(r), 1, self.show["results"])
        return r[0]

    def joules(self, expected, tolerance=1e-3, boundary="gpu", provenance="measured"):
        r = self.energy(boundary)
        self.assertIsNotNone(r["value"], self.findings)
        self.assertAlmostEqual(r["value"] / expected, 1, delta=tolerance)
        self.assertEqual(r["provenance"], provenance)

    def refused(self, path, *parts, more=()):
        out = os.path.join(self.dir, "no.jmr")
        p = run("import", path, "-o", out, *more)
        self.assertIn(p.returncode, (2, 4), (p.stdout, p.stderr))
        for part in parts:
            self.assertIn(part, p.stderr)
        self.assertFalse(os.path.exists(out))


def stamp(t, ms=True):
    return t.strftime("%Y/%m/%d %H:%M:%S") + (f".{t.microsecond // 1000:03d}" if ms else "")


UUID = ["GPU-11111111-2222-3333-4444-555555555555", "GPU-66666666-7777-8888-9999-000000000000"]


class NvidiaCsv(Files):
    def test_two_gpus(self):
        """300 W and 100 W: 400 W over 60.0 s less the 2 ms between the two lines of a look."""
        rows = ["timestamp, uuid, name, driver_version, power.draw [W], power.draw.instant [W], enforced.power.limit [W], "
                "utilization.gpu [%]"]
        for i in range(601):
            for g in range(2):
                t = T0 + timedelta(milliseconds=100 * i + 2 * g)
                rows.append(f"{stamp(t)}, {UUID[g]}, NVIDIA H100 80GB HBM3, 590.48.01, {300 - 200 * g:.2f} W, [N/A], 700.00 W, 98 %")
        path = self.write("smi.csv", "\n".join(rows) + "\n")
        self.load(path, "nvidia-smi")
        self.joules(400 * 59.998)
        self.assertEqual(self.env["import.gpus"], "2")
        self.assertNotIn("log.idle", self.findings)
        self.assertEqual([x for x in self.show["results"] if x["metric"].startswith("j_per.") and x["value"] is not None], [])
        # 30 s out of the middle
        self.load(path, "nvidia-smi", "--since", "15s", "--until", "2024/05/30 10:16:05.002")
        self.joules(400 * 30.0)
        self.refused(path, "is not within the log", more=("--since", "2h"))
        self.refused(path, "is no time", more=("--until", "noon"))

    def test_any_order_no_units_no_ms(self):
        """250 W, one look a second, columns turned round, a header twice, words for no value, a line that was cut."""
        rows = ["power.draw, index, clocks.sm, timestamp"]
        for i in range(121):
            t = T0 + timedelta(seconds=i)
            rows.append(f"{'[Unknown Error]' if i == 60 else '250.00'}, 0, 1980, {stamp(t, False)}")
            if i == 50:
                rows += ["power.draw, index, clocks.sm, timestamp", "250.00, 0"]
        self.load(self.write("x.csv", "\r\n".join(rows) + "\r\n"), "nvidia-smi")
        self.joules(250 * 120.0)
        self.assertEqual(self.env["import.log.short_lines"], "1")
        self.assertEqual(self.env["import.log.without_value"], "1")

    def test_missing_words(self):
        """A GPU whose power is in no line is named, and its total is not taken for all."""
        for word in ("[N/A]", "[Not Supported]", "ERR!", "[GPU is lost]", "[Requested functionality has been deprecated]"):
            rows = ["timestamp, index, power.draw [W]"]
            for i in range(61):
                t = T0 + timedelta(seconds=i)
                rows += [f"{stamp(t)}, 0, 100.00 W", f"{stamp(t + timedelta(milliseconds=1))}, 1, {word}"]
            self.load(self.write("m.csv", "\n".join(rows)), "nvidia-smi")
            self.joules(100 * 60.0)
            self.assertIn("log.silent", self.findings)

    def test_no_header(self):
        rows = [f"{stamp(T0 + timedelta(seconds=i))}, {UUID[0]}, 200.00 W, 99 %" for i in range(61)]
        self.load(self.write("n.csv", "\n".join(rows)), "nvidia-smi")
        self.joules(200 * 60.0)
        self.assertIn("guessed", self.env["import.columns"])

    def test_no_times(self):
        text = "index, power.draw [W]\n" + "0, 200.00 W\n1, 100.00 W\n" * 61
        self.refused(self.write("t.csv", text), "--interval")
        self.load(self.write("t.csv", text), "nvidia-smi", "--interval", "500ms")
        self.joules(300 * 30.0, 0.02)
        self.assertIn("log.no_stamps", self.findings)

    def test_sampling(self):
        """A100: a mean over 25 ms each 100 ms (arXiv 2312.02741). Read once a second 2.5 % of the time is seen; read each
        20 ms the values repeat. And a log that is idle for two thirds."""
        head = "timestamp, index, name, driver_version, power.draw [W]\n"
        row = "{}, 0, NVIDIA A100-SXM4-80GB, 550.54.15, {:.2f} W"
        slow = [row.format(stamp(T0 + timedelta(seconds=i)), 400) for i in range(61)]
        self.load(self.write("a.csv", head + "\n".join(slow)), "nvidia-smi")
        self.assertIn("2.5 %", self.findings["log.aliasing"]["text"])
        fast = [row.format(stamp(T0 + timedelta(milliseconds=20 * i)), 300 + i // 5 % 7) for i in range(1001)]
        self.load(self.write("b.csv", head + "\n".join(fast)), "nvidia-smi")
        self.assertIn("log.repeats", self.findings)
        idle = [row.format(stamp(T0 + timedelta(seconds=i)), 400 if 20 <= i < 40 else 60) for i in range(61)]
        self.load(self.write("c.csv", head + "\n".join(idle)), "nvidia-smi")
        self.assertIn("67 %", self.findings["log.idle"]["text"])

    def test_not_this(self):
        self.refused(self.write("p.csv", "timestamp, uuid, utilization.gpu [%]\n" + stamp(T0) + ", GPU-1, 5 %\n"), "power.draw")
        self.refused(self.write("o.csv", "timestamp, index, power.draw [W]\n" + stamp(T0) + ", 0, 5.00 W\n"), "one look")


def q_text(i, driver):
    """Layouts: one block before 530; three blocks from 535 on; limits nested in 610."""
    t = (T0 + timedelta(seconds=i)).strftime("%a %b %d %H:%M:%S %Y")
    head = f"""
==============NVSMI LOG==============

Timestamp                                 : {t}
Driver Version                            : {driver}
CUDA Version                              : 12.4

Attached GPUs                             : 1
GPU 00000000:18:00.0
    Product Name                          : NVIDIA H100 80GB HBM3
    Product Architecture                  : Hopper
"""
    if driver < "530":
        return head + """    Power Readings
        Power Management                  : Supported
        Power Draw                        : 432.21 W
        Power Limit                       : 700.00 W
        Enforced Power Limit              : 700.00 W
    Power Samples
        Duration                          : 2.35 sec
        Max                               : 600.00 W
        Min                               : 10.00 W
        Avg                               : 500.00 W
"""
    draw = "Power Draw                        " if driver < "560" else "Average Power Draw                "
    nested = "        GPU Ceiling Power Limit\n            Current Power Limit           : 700.00 W\n        GPU Base Power\n" \
        "            Current Base Power            : N/A\n        Max Power Limit                   : 700.00 W\n" if driver > "600" else \
        "        Current Power Limit               : 700.00 W\n"
    return head + f"""    GPU Power Readings
        {draw}: 432.21 W
        Instantaneous Power Draw          : {'N/A' if driver < '560' else '444.72 W'}
{nested}    GPU Memory Power Readings 
        Average Power Draw                : 93.98 W
        Instantaneous Power Draw          : N/A
    Module Power Readings
        Power Draw                        : N/A
        Average Power Draw                : N/A
        Current Power Limit               : N/A
"""


class NvidiaQ(Files):
    def test_text(self):
        for driver in ("525.105.17", "535.104.05", "570.86.10", "590.48.01", "610.43.02"):
            text = "".join(q_text(i, driver) for i in range(61))
            self.load(self.write("q.txt", text), "nvidia-smi")
            self.joules(432.21 * 60.0)  # neither the samples' mean nor the memory's power

    def xml(self, i, new):
        t = (T0 + timedelta(seconds=i)).strftime("%a %b %d %H:%M:%S %Y")
        block = ("<gpu_power_readings><power_state>P0</power_state><average_power_draw>432.21 W</average_power_draw>"
                 "<instant_power_draw>N/A</instant_power_draw><current_power_limit>700.00 W</current_power_limit>"
                 "</gpu_power_readings><gpu_memory_power_readings><average_power_draw>93.98 W</average_power_draw>"
                 "</gpu_memory_power_readings><module_power_readings><average_power_draw>N/A</average_power_draw>"
                 "</module_power_readings>") if new else \
            ("<power_readings><power_state>P0</power_state><power_draw>432.21 W</power_draw>"
             "<enforced_power_limit>700.00 W</enforced_power_limit></power_readings>")
        return (f'<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd" [ <!ELEMENT x (#PCDATA)> ]>\n'
                f"<nvidia_smi_log>\n<timestamp>{t}</timestamp>\n<driver_version>590.48.01</driver_version>\n"
                f'<gpu id="00000000:18:00.0">\n<product_name>NVIDIA H100 80GB HBM3 &amp; more</product_name>\n'
                f"<product_architecture>Hopper</product_architecture>\n<mig_mode/>\n{block}\n"
                f"<clocks><sm_clock>1980 MHz</sm_clock></clocks></gpu>\n</nvidia_smi_log>\n")

    def test_xml(self):
        for new in (False, True):
            self.load(self.write("q.xml", "".join(self.xml(i, new) for i in range(61))), "nvidia-smi")
            self.joules(432.21 * 60.0)
        whole = "".join(self.xml(i, True) for i in range(61))
        self.load(self.write("cut.xml", whole[:-40]), "nvidia-smi")  # killed while it wrote
        self.joules(432.21 * 60.0)
        self.assertIn("import.log.cut", self.env)

    def test_table(self):
        """The table that nvidia-smi -l prints: whole watts, two lines a GPU, processes below that are none."""
        text = ""
        for i in range(61):
            text += f"""{(T0 + timedelta(seconds=i)).strftime('%a %b %d %H:%M:%S %Y')}
+---------------------------------------------------------------------------------------+
| NVIDIA-SMI 550.54.14    Driver Version: 550.54.14    CUDA Version: 12.4                |
|-----------------------------------------+----------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id        Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |         Memory-Usage | GPU-Util  Compute M. |
|=========================================+======================+======================|
|   0  NVIDIA H100 80GB HBM3          On  | 00000000:18:00.0 Off |                    0 |
| N/A   34C    P0             432W / 700W |   1024MiB / 81559MiB |     98%      Default |
+-----------------------------------------+----------------------+----------------------+
|   1  NVIDIA H100 80GB HBM3          On  | 00000000:2A:00.0 Off |                    0 |
| N/A   33C    P0               68W / 700W |    512MiB / 81559MiB |      0%      Default |
+-----------------------------------------+----------------------+----------------------+
| Processes:                                                                             |
|    0   N/A  N/A      1234      C   python                                    1000MiB |
+---------------------------------------------------------------------------------------+
"""
        self.load(self.write("t.txt", text), "nvidia-smi")
        self.joules(500 * 60.0)
        new = text.replace("Driver Version: 550.54.14 ", "KMD Version: 610.43.02 ").replace("CUDA Version", "CUDA UMD Version")
        mig = "| MIG devices: |\n+---+\n|  0    2   0   0  |              44MiB / 71424MiB    | 60      0 |  3   0    3    0    3 |\n"
        self.load(self.write("t.txt", new.replace("| Processes:", mig + "+---+\n| Processes:")), "nvidia-smi")
        self.joules(500 * 60.0)

    def test_dmon(self):
        text = "#Date       Time        gpu    pwr  gtemp  mtemp     sm    mem   mclk   pclk \n" \
               "#YYYYMMDD   HH:MM:SS    Idx      W      C      C      %      %    MHz    MHz \n"
        for i in range(61):
            t = T0 + timedelta(seconds=i)
            for g in range(2):
                text += f" {t:%Y%m%d}   {t:%H:%M:%S}      {g}    {110 + 100 * g}     45      -     99     60   2619   1980 \n"
        self.load(self.write("d.txt", text), "nvidia-smi")
        self.joules(320 * 60.0)
        bare = "# gpu    pwr  gtemp  mtemp \n# Idx      W      C      C \n" + "    0    110     45      - \n    1    210     45      - \n" * 61
        self.load(self.write("e.txt", bare), "nvidia-smi")
        self.joules(320 * 60.0)
        self.assertIn("log.no_stamps", self.findings)
        self.refused(self.write("p.txt", "# gpu        pid  type    sm   mem   enc   dec   command\n    0  1 C 1 1 - - x\n"), "pmon")


class Amd(Files):
    def test_csv(self):
        """200 W of one package: its second die shows 0 or N/A (rocm_smi_lib issue 160)."""
        for die in ("0", "N/A", "0 W"):
            rows = ["timestamp,gpu,socket_power,gfx_voltage"]
            for i in range(61):
                rows += [f"{UNIX + i},0,200 W,780 mV", f"{UNIX + i},1,{die},N/A"]
            self.load(self.write("a.csv", "\n".join(rows)), "amd-smi")
            self.joules(200 * 60.0)
            self.assertIn("log.silent", self.findings)

    def test_json(self):
        looks = [[{"gpu": g, "timestamp": UNIX + i, "power": {"socket_power": {"value": 94 + g, "unit": "W"}, "gfx_voltage": "N/A"},
                   "energy": {"total_energy_consumption": {"value": 5000.5 + (94 + g) * i, "unit": "J"}}} for g in range(2)]
                 for i in range(61)]
        self.load(self.write("a.json", looks), "amd-smi")
        self.joules((94 + 95) * 60.0)
        self.assertNotIn("energy.conflict", self.findings)
        flat = "\n".join(json.dumps({"gpu_data": [{"gpu": 0, "power": {"current_socket_power": "120 W"}}]}) for _ in range(61))
        self.refused(self.write("f.json", flat), "--interval")
        self.load(self.write("f.json", flat), "amd-smi", "--interval", "1s")
        self.joules(120 * 60.0)

    def test_rocm(self):
        looks = "\n".join(json.dumps({"card0": {"Average Graphics Package Power (W)": "237.0"},
                                      "card1": {"Average Graphics Package Power (W)": "N/A (Secondary die)"}}) for _ in range(61))
        self.load(self.write("r.json", looks), "rocm-smi", "--interval", "1 s")
        self.joules(237 * 60.0)
        rows = ["timestamp,device,Current Socket Graphics Package Power (W)"]
        rows += [f"{UNIX + i}.5,card0,300.0" for i in range(61)]
        self.load(self.write("r.csv", "\n".join(rows)), "rocm-smi")
        self.joules(300 * 60.0)

    def test_gaudi(self):
        rows = ["timestamp, index, uuid, power.draw [W], utilization.aip [%]"]
        for i in range(61):
            t = (T0 + timedelta(seconds=i)).strftime("%a %b %d %H:%M:%S UTC %Y")
            rows += [f"{t}, {g}, 01P0-HL2080A0-15-TNF{g}, {450 + g} W, 90 %" for g in range(2)]
        self.load(self.write("h.csv", "\n".join(rows)), "hl-smi")
        self.joules(901 * 60.0)
        rows = ["timestamp, index, name, power.draw [W]"]  # nvidia-smi's names: the device's tells
        rows += [f"{T0 + timedelta(seconds=i)}, 0, HL-225, 450 W" for i in range(61)]
        self.load(self.write("h.csv", "\n".join(rows)), "hl-smi")
        self.joules(450 * 60.0)

    def test_xpu(self):
        """Times of day alone, over midnight; a sensor that is not there is no 0."""
        rows = ["Timestamp, DeviceId, GPU Utilization (%), GPU Power (W), GPU Energy Consumed (J), GPU Memory Temperature (Celsius Degree)"]
        for i in range(61):
            s = (86400 - 30 + i) % 86400
            rows += [f"{s // 3600:02}:{s // 60 % 60:02}:{s % 60:02}.250,    {g}, 97.50, {300 + g}.00, {5000.5 + (300 + g) * i:.2f},   N/A"
                     for g in range(2)]
        self.load(self.write("x.csv", "\n".join(rows)), "xpu-smi")
        self.joules(601 * 60.0)
        rows = ["Timestamp, DeviceId, TileId, GPU Power (W)"]
        rows += [f"01:02:{i:02}.000, 0, {t}, {100 + t}.5" for i in range(60) for t in range(2)]
        self.load(self.write("t.csv", "\n".join(rows)), "xpu-smi")
        self.joules(202 * 59.0)


def stats(seconds, joules, mean, end="Fri May 31 10:16:14 2024"):
    return f"""Successfully retrieved statistics for job: 7.
+------------------------------------------------------------------------------+
| GPU ID: 1                                                                    |
+====================================+=========================================+
|-----  Execution Stats  ------------+-----------------------------------------|
| Start Time                         | Thu May 30 10:15:20 2024                |
| End Time                           | {end:<40}|
| Total Execution Time (sec)         | {seconds:<40}|
| No. of Processes                   | 1                                       |
+-----  Performance Stats  ----------+-----------------------------------------+
| Energy Consumed (Joules)           | {joules:<40}|
| Power Usage (Watts)                | Avg: {mean}, Max: 70.022, Min: 69.151  |
| SM Clock (MHz)                     | Avg: 1157, Max: 1410, Min: 1155         |
| PCIe Rx Bandwidth (megabytes)      | Avg: N/A, Max: N/A, Min: N/A            |
+-----  Overall Health  -------------+-----------------------------------------+
| Overall Health                     | Healthy                                 |
+------------------------------------+-----------------------------------------+
"""


class Dcgmi(Files):
    def test_cache(self):
        """Vision-CAIR/MiniGPT-Med's file: 252136 J of 86454.5 s at 69.7762 W, which is 3613 s of it."""
        self.load(self.write("s.txt", stats(86454.5, 252136, 69.7762)), "dcgmi")
        self.joules(252136, 1e-9, provenance="declared")
        self.assertEqual(self.findings["dcgm.cache"]["severity"], "error")
        self.assertIn("3600 s", self.findings["dcgm.cache"]["evidence"])
        self.load(self.write("s.txt", stats(600.0, 41870, 69.7762)), "dcgmi")  # 69.7762 W x 600 s = 41866 J
        self.assertNotIn("dcgm.cache", self.findings)

    def test_blank(self):
        self.load(self.write("b.txt", stats(600.0, 9223372036854775792, 69.7762, "Still Running")), "dcgmi")
        self.assertIn("energy.blank", self.findings)
        self.assertIn("dcgm.running", self.findings)
        self.assertEqual([x for x in self.show["results"] if x["metric"] == "energy" and x["value"] is not None], [])

    def test_dmon(self):
        """Energy in mJ, power in W; lines of MIG instances are not counted. 50 W: 50000 mJ a second."""
        text = "#Entity   POWER     TOTEC     \nID        W         mJ        \n"
        for i in range(61):
            text += f"GPU 0     50.000    {10_000_000 + 50_000 * i}   \nGPU-I 0   N/A       {10_000_000 + 50_000 * i}  \n"
        self.load(self.write("m.txt", text), "dcgmi")
        self.joules(50 * 60.0)
        self.load(self.write("m.txt", text.replace("POWER     TOTEC", "POBRD     ENRGY")), "dcgmi")  # by their units
        self.joules(50 * 60.0)
        self.assertIn("log.mig", self.findings)
        self.assertNotIn("log.units", self.findings)


def series(name, values, **labels):
    return {"metric": {"__name__": name, **labels}, "values": [[t, str(v)] for t, v in values]}


def answer(*result):
    return {"status": "success", "data": {"resultType": "matrix", "result": list(result)}}


class Prometheus(Files):
    GPU = {"gpu": "0", "UUID": UUID[0], "Hostname": "n1", "modelName": "NVIDIA H100 80GB HBM3"}

    def test_counter_over_a_restart(self):
        """A pod starts anew: the counter of the board goes on under another label. 400 W for 600 s in steps of 15 s."""
        at = lambda i: (UNIX + 15 * i, 7_000_000_000 + 400_000 * 15 * i)
        power = [(UNIX + 15 * i, 400 if i != 7 else "NaN") for i in range(41)]
        d = answer(series("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", [at(i) for i in range(20, 41)], pod="b", **self.GPU),
                   series("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", [at(i) for i in range(20)], pod="a", **self.GPU),
                   series("DCGM_FI_DEV_POWER_USAGE", power, pod="a", **self.GPU),
                   series("up", [(UNIX, 1)], job="x"))
        self.load(self.write("p.json", d), "prometheus")
        self.joules(400 * 600.0)
        self.assertIn("log.relabelled", self.findings)
        self.assertNotIn("energy.conflict", self.findings)
        self.assertEqual(self.env["import.series.other"], "1, the first is up")

    def test_reset(self):
        """The driver is loaded anew in the middle: a lower bound, no value. 300 s x 400 W before; after it 0 to 0.4 MJ/1000."""
        v = [(UNIX + 15 * i, 9_000_000_000 + 6_000_000 * i if i <= 20 else 6_000_000 * (i - 20)) for i in range(41)]
        self.load(self.write("p.json", answer(series("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", v, **self.GPU))), "prometheus")
        self.assertIsNone(self.energy()["value"])
        self.assertIn("counter.reset", self.findings)
        self.assertIn("at least", self.findings["counter.reset"]["evidence"])

    def test_unit(self):
        """J where mJ should be: a thousandth."""
        d = answer(series("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", [(UNIX + 15 * i, 400 * 15 * i + 1000) for i in range(41)], **self.GPU),
                   series("DCGM_FI_DEV_POWER_USAGE", [(UNIX + 15 * i, 400) for i in range(41)], **self.GPU))
        self.load(self.write("p.json", d), "prometheus")
        self.assertEqual(self.findings["log.units"]["severity"], "error")
        self.assertIn("0.001", self.findings["log.units"]["text"])

    def test_gap(self):
        """Stale for ten minutes of 40: declared, and no value."""
        v = [(UNIX + 15 * i, 400) for i in range(161) if not 60 <= i < 100]
        self.load(self.write("p.json", answer(series("DCGM_FI_DEV_POWER_USAGE", v, **self.GPU))), "prometheus")
        self.assertIsNone(self.energy()["value"])
        self.assertIn("energy.uncovered", self.findings)

    def test_others(self):
        """Package 100 W and DRAM 20 W by RAPL, BMC 500 W, PDU outlet; a model's estimate is none of them."""
        n = {"instance": "n1:9100"}
        r = range(41)
        d = answer(series("node_rapl_package_joules_total", [(UNIX + 15 * i, f"{1.5e3 * i + 7e4:.10e}") for i in r], index="0", path="intel-rapl:0", **n),
                   series("node_rapl_package_joules_total", [(UNIX + 15 * i, 1500 * i + 70000) for i in r], index="0", path="intel-rapl-mmio:0", **n),
                   series("node_rapl_dram_joules_total", [(UNIX + 15 * i, 300 * i) for i in r], index="0", path="intel-rapl:0:0", **n),
                   series("ipmi_dcmi_power_consumption_watts", [(UNIX + 15 * i, 500) for i in r], **n),
                   series("kepler_node_package_joules_total", [(UNIX + 15 * i, 9000 * i) for i in r], package="0", mode="dynamic", **n))
        self.load(self.write("p.json", d), "prometheus")
        self.joules(120 * 600.0, boundary="device")
        self.joules(500 * 600.0, boundary="node")
        self.assertIn("estimate", self.findings)

    def test_pdu(self):
        """rPDU2DeviceStatusPower is in 0.01 kW: 90 is 900 W; energy is in 0.1 kWh: 36 MJ in an hour are 100 of them... here
        900 W over 4 h are 3.6 kWh, which is 36 steps."""
        p = [(UNIX + 60 * i, 90) for i in range(241)]
        e = [(UNIX + 60 * i, 1000 + 900 * 60 * i // 360000) for i in range(241)]
        self.load(self.write("p.json", answer(series("rPDU2DeviceStatusPower", p, instance="pdu1", rPDU2DeviceStatusIndex="1"),
                                              series("rPDU2DeviceStatusEnergy", e, instance="pdu1", rPDU2DeviceStatusIndex="1"))), "prometheus")
        self.assertNotIn("log.units", self.findings)

    def test_functions_and_instants(self):
        self.refused(self.write("p.json", answer({"metric": {"gpu": "0"}, "values": [[UNIX, "1"], [UNIX + 15, "2"]]})), "without a name")
        self.refused(self.write("p.json", {"status": "success", "data": {"resultType": "vector", "result": [
            {"metric": {"__name__": "DCGM_FI_DEV_POWER_USAGE"}, "value": [UNIX, "1"]}]}}), "instant")
        self.refused(self.write("p.json", {"status": "error", "errorType": "bad_data", "error": "parse error"}), "parse error")

    def test_promtool(self):
        text = 'DCGM_FI_DEV_POWER_USAGE{Hostname="n1", UUID="%s", gpu="0", modelName="Tesla T4"} =>\n' % UUID[0]
        text += "".join(f"70 @[{UNIX + 15 * i}]\n" for i in range(41))
        self.load(self.write("p.txt", text), "prometheus")
        self.joules(70 * 600.0)

    def test_grafana(self):
        wide = '"Time","DCGM_FI_DEV_POWER_USAGE{Hostname=""n1"", gpu=""0""}","DCGM_FI_DEV_POWER_USAGE{Hostname=""n1"", gpu=""1""}"\n'
        wide += "".join(f"{T0 + timedelta(seconds=15 * i)},94 W,0.106 kW\n" for i in range(41))
        self.load(self.write("g.csv", wide), "prometheus")
        self.joules(200 * 600.0)
        long = '"Series";"Time";"Value"\n'
        long += "".join(f'"DCGM_FI_DEV_POWER_USAGE{{gpu=""0""}}";"2024-05-30T10:{15 + i // 4:02d}:{i % 4 * 15:02d}+00:00";94\n' for i in range(41))
        self.load(self.write("l.csv", long), "prometheus")
        self.joules(94 * 600.0)

    def test_dump(self):
        """Scrapes of dcgm-exporter one after the other. Each GPU once, whatever its instances; a blank is no value; the power of a
        Grace socket is that of one core's line."""
        text = ""
        for i in range(61):
            text += f"# {(T0 + timedelta(seconds=i)).isoformat()}Z\n# HELP DCGM_FI_DEV_POWER_USAGE Power draw (in W).\n# TYPE DCGM_FI_DEV_POWER_USAGE gauge\n"
            for inst in ("1", "2"):
                text += f'DCGM_FI_DEV_POWER_USAGE{{gpu="0",UUID="{UUID[0]}",Hostname="n1",GPU_I_PROFILE="3g.40gb",GPU_I_ID="{inst}"}} 295.01\n'
                text += f'DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{{gpu="0",UUID="{UUID[0]}",Hostname="n1",GPU_I_ID="{inst}"}} {8_000_000_000 + 295_010 * i}\n'
            text += f'DCGM_FI_DEV_POWER_USAGE{{gpu="1",UUID="{UUID[1]}",Hostname="n1"}} 140737488355328\n'
            for core in range(4):
                text += f'DCGM_FI_DEV_CPU_POWER_UTIL_CURRENT{{cpu="0",cpucore="{core}",Hostname="n1"}} 52.5\n'
            text += "garbage {\n"
        self.load(self.write("d.prom", text), "prometheus")
        gpu = [r for r in self.show["results"] if r["metric"] == "energy" and r["boundary"] == "gpu"][0]
        self.assertEqual((gpu["have"], gpu["of"]), (1, 2))  # the blank one is missing, not 0
        self.assertIn("log.mig", self.findings)
        self.assertIn("log.cores", self.findings)
        self.load(self.write("e.prom", "\n".join(x for x in text.splitlines() if UUID[1] not in x)), "prometheus")
        self.joules(295.01 * 60.0)
        self.refused(self.write("n.prom", "\n".join(x for x in text.splitlines() if not x.startswith("# 2024"))), "time before each")


class Hostile(Files):
    def test_cut_and_turned(self):
        """Files cut anywhere and with bytes changed: an answer or a sentence, never a crash."""
        rng = random.Random(5)
        forms = {"q.txt": q_text(0, "590.48.01") + q_text(1, "590.48.01"), "s.txt": stats(86454.5, 252136, 69.7762),
                 "x.csv": "timestamp, index, power.draw [W]\n" + "".join(f"{stamp(T0 + timedelta(seconds=i))}, 0, 5.00 W\n" for i in range(5)),
                 "p.json": json.dumps(answer(series("DCGM_FI_DEV_POWER_USAGE", [(UNIX + i, i) for i in range(5)], gpu="0")))}
        for name, text in forms.items():
            for _ in range(12):
                b = list(text[:rng.randrange(1, len(text))])
                for _ in range(rng.randrange(4)):
                    b[rng.randrange(len(b))] = rng.choice('{}[]",:|#\n 0-eW\x00é')
                p = run("import", self.write(name, "".join(b)), "-o", os.path.join(self.dir, "h.jmr"), "--force")
                self.assertIn(p.returncode, (0, 2, 4), (name, p.stderr))


if __name__ == "__main__":
    tap.main()

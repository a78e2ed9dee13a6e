#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The meter dcgm-exporter: against a stand-in that serves simulated GPUs in the exporter's format, whose energy is known, and
against answers of every bad kind."""
import http.server
import json
import os
import subprocess
import tempfile
import threading
import unittest

import dcgm_exporter
import tap

JOULEMARK = os.environ["JOULEMARK"]
BUILD = os.environ.get("JM_BUILD", "build")
SIM = os.path.join(BUILD, "sim", "joulemark-sim")
LIB = os.path.join(BUILD, "sim", "gpu", "libdcgm.so.4")
H100 = 'gpu="0",UUID="GPU-a",modelName="NVIDIA H100 80GB HBM3",DCGM_FI_DRIVER_VERSION="550.54.15"'
E, P = "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "DCGM_FI_DEV_POWER_USAGE"


def run(*words, status=0):
    p = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    if status is not None and p.returncode != status:
        raise AssertionError(f"{words}: {p.returncode}\n{p.stdout}\n{p.stderr}")
    return p


class Case(unittest.TestCase):
    def setUp(self):
        self.tmp = tempfile.TemporaryDirectory()
        self.dir = self.tmp.name
        self.addCleanup(self.tmp.cleanup)

    def config(self, url, more=""):
        path = os.path.join(self.dir, "c.yaml")
        with open(path, "w", encoding="ascii") as f:
            f.write(f"meters:\n  - name: exp\n    meter: dcgm-exporter\n    url: {url}\n    timeout: 5s\n{more}")
        return path

    def meters(self, url, more="", status=None):
        p = run(JOULEMARK, "meters", "--config", self.config(url, more), "-m", "exp", "--json", status=status)
        return json.loads(p.stdout)["meters"][-1]


class Truth(Case):
    def setUp(self):
        super().setUp()
        self.state = os.path.join(self.dir, "state")
        run(SIM, "gpu", "--gpus", "2", "--profile", "h100", "--waveform", "cycle:700W@40ms,300W@110ms", "--refresh", "0ms", "--gpu",
            "0:mig=1g.10gb+1g.10gb+1g.10gb", "--state", self.state, "--create-only")
        try:
            self.engine = dcgm_exporter.Engine(LIB, self.state)
        except OSError as e:
            self.skipTest(f"{LIB} cannot be loaded here: {e}")
        self.addCleanup(self.engine.close)

    def test_every_reading_is_a_collection_and_energy_is_the_truth(self):
        s = dcgm_exporter.Server(self.engine, 0.3, names=1)
        self.addCleanup(s.shutdown)
        out, text = os.path.join(self.dir, "r.jmr"), os.path.join(self.dir, "r.json")
        run(JOULEMARK, "record", "--config", self.config(s.url, "    collect: 300ms\n    interval: 200ms\n"), "-m", "exp", "-t", "2s", "-o", out, status=None)  # 3: too short for any profile
        run(JOULEMARK, "export", out, "--format", "json", "-o", text)
        with open(text, encoding="utf-8") as f:
            raw = json.load(f)
        counters = [c for c in raw["channels"] if c["kind"] == "counter"]
        self.assertEqual(len(counters), 2)  # three instances of one GPU are that GPU
        for c in counters:
            uuid = c["device"].split("/", 1)[1]
            got = [round(1e3 * r["value"]) for r in raw[f"readings.{c['channel']}"] if r["status"] == "ok"]
            self.assertGreaterEqual(len(set(got)), 2)
            for v in got:
                self.assertIn(v, s.collected[uuid])
            self.assertEqual(got, sorted(got))
            # the collections' own stamps, microseconds of the simulation's wall clock
            a, b = s.collected[uuid][got[0]], s.collected[uuid][got[-1]]
            truth = dcgm_exporter.truth(SIM, self.state, uuid, a, b)
            # a stamp's microsecond at 700 W is 0.7 mJ, the counter's step 1 mJ, at each end
            self.assertAlmostEqual((got[-1] - got[0]) / 1e3, truth, delta=0.004)

    def test_mirror_beside_nvml(self):
        s = dcgm_exporter.Server(self.engine, 0.3)
        self.addCleanup(s.shutdown)
        env = dict(os.environ, JOULEMARK_SIM_GPU=self.state, JM_NVML_LIB=os.path.join(BUILD, "sim", "gpu", "libnvidia-ml.so.1"))
        p = subprocess.run([JOULEMARK, "meters", "--config", self.config(s.url), "-m", "nvml,exp", "--json", "--no-measure"], env=env, stdin=subprocess.DEVNULL,
                           capture_output=True, text=True, timeout=60)
        both = {m["name"]: m for m in json.loads(p.stdout)["meters"]}
        domains = {c["domain"]["id"] for c in both["nvml"]["channels"] if c["name"] == "energy"}
        energy = [c for c in both["dcgm-exporter"]["channels"] if c["name"] == "energy"]
        self.assertEqual({c["domain"]["id"] for c in energy}, domains)
        self.assertFalse(any(c["added"] for c in both["dcgm-exporter"]["channels"]))


class Static(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        status, body = self.server.say
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Answers(Case):
    @classmethod
    def setUpClass(cls):
        cls.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Static)
        threading.Thread(target=cls.server.serve_forever, daemon=True).start()
        cls.url = f"http://127.0.0.1:{cls.server.server_port}"

    @classmethod
    def tearDownClass(cls):
        cls.server.shutdown()

    def ask(self, body, status=200):
        self.server.say = (status, body.encode())
        return self.meters(self.url)

    def test_says_why_not(self):
        for status, body, state, want in (
                (404, "404 page not found", "absent", "no such resource"),
                (401, "", "denied", "401"),
                (200, "<html><body>Grafana</body></html>", "unsupported", "no metrics text"),
                (200, "up 1\n", "unsupported", "the first metric is up"),
                (200, f"DCGM_FI_DEV_SM_CLOCK{{{H100}}} 1980\n", "unsupported", "counters file"),
                (200, f"{E}{{{H100}}} 9223372036854775794\n", "unsupported", "none of energy or power")):
            m = self.ask(body, status)
            self.assertEqual(m["state"], state, (body, m["reason"]))
            self.assertIn(want, m["reason"])

    def test_values(self):
        # a relabelled pod, instances, cores, a blank, NaN, a switch; 5551899580 mJ through 64 bits (gpu-monitoring-tools issue 4)
        m = self.ask(f'# TYPE {E} counter\n{E}{{{H100},GPU_I_ID="1",pod="a"}} 5551899580\n{E}{{{H100},GPU_I_ID="2",pod="b"}} 5551899581\n'
                     f'{P}{{{H100},pod="a"}} 35.686000\n{P}{{{H100},pod="b"}} 35.686000\n'
                     f'{P}{{gpu="1",UUID="GPU-b"}} NaN\n{E}{{gpu="1",UUID="GPU-b"}} 9223372036854775794\n'
                     'DCGM_FI_DEV_CPU_POWER_WATTS{cpu="0",cpucore="0"} 51.5\nDCGM_FI_DEV_CPU_POWER_WATTS{cpu="0",cpucore="1"} 51.5\n'
                     'DCGM_FI_DEV_NVSWITCH_POWER_VDD{nvswitch="nvswitch2"} 38\n')
        self.assertEqual(m["state"], "ok", m["reason"])
        got = {(c["domain"]["key"], c["name"]): (c["status"], c["value"]) for c in m["channels"]}
        self.assertEqual(got[("GPU-a", "energy")], ("ok", 5551899.581))  # the latest of its instances
        self.assertEqual(got[("GPU-a", "power.usage")], ("ok", 35.686))
        self.assertEqual(got[("GPU-b", "power.usage")], ("absent", None))
        self.assertNotIn(("GPU-b", "energy"), got)
        self.assertEqual(got[("cpu-0", "power")], ("ok", 51.5))
        self.assertEqual(got[("nvswitch-2 vdd", "power.vdd")], ("ok", 38))
        self.assertEqual(len(got), 5)
        self.assertTrue(all(c["added"] for c in m["channels"]))
        sem = {c["name"]: c["meaning"] for c in m["channels"] if c["domain"]["key"] == "GPU-a"}
        self.assertIn("1 s of each 30 s", sem["power.usage"])  # looked at every 30 s, it has seen a thirtieth

    def test_old_stamp_is_stale(self):
        m = self.ask(f"{E}{{{H100}}} 1000 1700000000000\n")
        self.assertEqual(m["channels"][0]["status"], "stale")

    def test_other_vendors(self):
        m = self.ask('gpu_package_power{gpu_id="0",serial_number="x",gpu_uuid="7dff"} 143\n'
                     'gpu_energy_consumed{gpu_id="0",serial_number="x",gpu_uuid="7dff"} 15259000000\n')
        got = {c["name"]: c["value"] for c in m["channels"]}
        self.assertEqual(got, {"power.current": 143, "energy": 15259})


if __name__ == "__main__":
    tap.main()

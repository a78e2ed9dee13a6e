#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A real Prometheus scrapes text as dcgm-exporter writes it, once a second; its answer to a range query, and promtool's, are
imported. The truth is the server's own: 400 W of one GPU, whose pod changes in the middle; 100 W of another, whose counter
starts again; and two simulated GPUs, one of them cut into instances, in
the exporter's full format, whose energy the simulation knows."""
import http.server
import json
import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.parse
import urllib.request

import dcgm_exporter
import tap

JOULEMARK = os.environ["JOULEMARK"]
BUILD = os.environ.get("JM_BUILD", "build")
SIM = os.path.join(BUILD, "sim", "joulemark-sim")
SECONDS = 11
NAMES = '{__name__=~"DCGM_FI_DEV_.*"}'


class Exporter(http.server.BaseHTTPRequestHandler):
    start = time.time()
    sim, lock, seen, served = None, threading.Lock(), {}, []
    turn = None  # from here on the pod is another one, and GPU 1 counts anew

    def do_GET(self):
        s = time.time() - self.start
        self.served.append(s)
        turned = self.turn is not None
        pod = "b" if turned else "a"
        second = 100_000 * (time.time() - self.turn) if turned else 5e9 + 100_000 * s
        text = "# HELP DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION Total energy consumption since boot (in mJ).\n" \
               "# TYPE DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION counter\n"
        for g, mj in ((0, 7e9 + 400_000 * s), (1, second)):
            text += f'DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{{gpu="{g}",UUID="GPU-{g}",modelName="NVIDIA H100 80GB HBM3",Hostname="n1",pod="{pod}"}} {mj:.0f}\n'
            text += f'DCGM_FI_DEV_POWER_USAGE{{gpu="{g}",UUID="GPU-{g}",modelName="NVIDIA H100 80GB HBM3",Hostname="n1",pod="{pod}"}} {(400, 100)[g]}\n'
        if self.sim:
            with self.lock:
                more, seen = dcgm_exporter.render(self.sim, 1, f',pod="{pod}"')
                for uuid, values in seen.items():
                    self.seen.setdefault(uuid, {}).update(values)
            text += more
        body = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@unittest.skipUnless(shutil.which("prometheus"), "prometheus is not installed")
class Peer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.mkdtemp(prefix="prometheus_test.")
        cls.state = os.path.join(cls.dir, "state")
        subprocess.run([SIM, "gpu", "--gpus", "2", "--refresh", "0ms", "--gpu", "0:mig=1g.10gb+1g.10gb", "--state", cls.state, "--create-only"],
                       check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=60)
        try:
            Exporter.sim = dcgm_exporter.Engine(os.path.join(BUILD, "sim", "gpu", "libdcgm.so.4"), cls.state)
        except OSError:
            pass  # built with sanitizers
        cls.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Exporter)
        threading.Thread(target=cls.server.serve_forever, daemon=True).start()
        conf = os.path.join(cls.dir, "p.yml")
        with open(conf, "w", encoding="ascii") as f:
            f.write("global: {scrape_interval: 1s, scrape_timeout: 1s}\nscrape_configs: [{job_name: dcgm, static_configs: "
                    f"[{{targets: ['127.0.0.1:{cls.server.server_port}']}}]}}]\n")
        port = free_port()
        cls.url = f"http://127.0.0.1:{port}"
        cls.log = open(os.path.join(cls.dir, "log"), "wb")
        cls.prometheus = subprocess.Popen(["prometheus", "--config.file=" + conf, "--storage.tsdb.path=" + os.path.join(cls.dir, "db"),
                                           f"--web.listen-address=127.0.0.1:{port}"], stdin=subprocess.DEVNULL, stdout=cls.log, stderr=cls.log)
        try:
            for _ in range(900):
                try:
                    if cls.query(time.time() - 5, time.time())["data"]["result"]:
                        break
                except OSError:
                    pass
                time.sleep(0.1)
            else:
                raise unittest.SkipTest("prometheus did not scrape within 90 s")
            time.sleep(1)
            cls.begin = time.time()
            time.sleep(SECONDS / 2)
            Exporter.turn = time.time()
            time.sleep(SECONDS / 2)
        except BaseException:
            cls.tearDownClass()
            raise

    @classmethod
    def tearDownClass(cls):
        cls.prometheus.terminate()
        cls.prometheus.wait(60)
        cls.log.close()
        cls.server.shutdown()
        shutil.rmtree(cls.dir)

    @classmethod
    def query(cls, start, end, step="1"):
        q = urllib.parse.urlencode({"query": NAMES, "start": f"{start:.3f}", "end": f"{end:.3f}", "step": step})
        with urllib.request.urlopen(f"{cls.url}/api/v1/query_range?{q}", timeout=60) as r:
            return json.load(r)

    def load(self, path):
        out = os.path.join(self.dir, "r.jmr")
        p = subprocess.run([JOULEMARK, "import", path, "-o", out, "--force"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        self.assertEqual(p.returncode, 0, p.stderr)
        show = subprocess.run([JOULEMARK, "show", out, "--json"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        shown = json.loads(show.stdout)
        text = os.path.join(self.dir, "r.json")
        subprocess.run([JOULEMARK, "export", out, "--format", "json", "-o", text], check=True, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
        with open(text, encoding="utf-8") as f:
            return shown, json.load(f)

    def check(self, path):
        shown, raw = self.load(path)
        self.assertEqual(shown["run"]["environment"]["import.gpus"], "4" if Exporter.sim else "2")
        for uuid, values in Exporter.seen.items():
            counter = next(c for c in raw["channels"] if c["device"] == uuid and c["kind"] == "counter")
            got = [x["value"] for x in raw[f"readings.{counter['channel']}"] if x["status"] == "ok"]
            ends = [values[round(1e3 * v)] for v in (got[0], got[-1])]
            self.assertGreater(ends[1] - ends[0], (SECONDS - 4) * 10**6)
            self.assertAlmostEqual(got[-1] - got[0], dcgm_exporter.truth(SIM, self.state, uuid, *ends), delta=0.004)
        found = {f["id"]: f for f in shown["validity"]["findings"]}
        self.assertIn("log.relabelled", found)
        self.assertIn("GPU-1", found["counter.reset"]["text"])
        self.assertNotIn("GPU-0", found["counter.reset"]["text"])
        self.assertNotIn("log.units", found)
        # 400 W of GPU 0 by what the readings themselves say: 400 mJ a ms; a step sees a scrape that is up to a second old
        counter = next(c for c in raw["channels"] if c["device"] == "GPU-0" and c["kind"] == "counter")
        r = [x for x in raw[f"readings.{counter['channel']}"] if x["status"] == "ok"]
        times = [s for s in Exporter.served if 0 <= s + Exporter.start - self.begin <= SECONDS]
        late = max(b - a for a, b in zip(times, times[1:])) - 1  # one that a busy machine left out
        self.assertGreaterEqual(len(r), min(SECONDS - 3, len(times) - 3))
        joules = r[-1]["value"] - r[0]["value"]
        seconds = (r[-1]["t0_ns"] - r[0]["t0_ns"]) / 1e9
        self.assertAlmostEqual(joules, 400 * seconds, delta=400 * (1.2 + max(0, late)))

    def test_range_query(self):
        path = os.path.join(self.dir, "range.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump(self.query(self.begin, self.begin + SECONDS - 0.5), f)
        self.check(path)

    @unittest.skipUnless(shutil.which("promtool"), "promtool is not installed")
    def test_promtool(self):
        for form in ("promql", "json"):
            p = subprocess.run(["promtool", "query", "range", "-o", form, f"--start={self.begin:.0f}", f"--end={self.begin + SECONDS - 1:.0f}",
                                "--step=1s", self.url, NAMES], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
            self.assertEqual(p.returncode, 0, p.stderr)
            path = os.path.join(self.dir, "promtool." + form)
            with open(path, "w", encoding="utf-8") as f:
                f.write(p.stdout)
            self.check(path)


if __name__ == "__main__":
    tap.main()

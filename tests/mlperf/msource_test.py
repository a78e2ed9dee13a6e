#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Director without a PTDaemon: a Yokogawa read directly, a meter by name, the software tier. Samples against the
known energy of the simulated instruments, and the marks that say that nothing of it is official."""
import concurrent.futures
import datetime
import json
import os
import subprocess
import tempfile
import time
import unittest

import patience
import tap
from mlperf_director import FILES, Client, Director
from simanalyzer import Analyzer
from simptd import SIM, Ptd

CONF = "[server]\nntpServer:\n[joulemark]\noutDir: @OUT@\nsettle: 200ms\n"


def rows(text):
    """Time in ns and watts, volts, amps, PF of each line of a spl.txt."""
    out = []
    for line in text.splitlines():
        if not line:
            continue
        f = line.split(",")
        t = datetime.datetime.strptime(f[1], "%m-%d-%Y %H:%M:%S.%f").replace(tzinfo=datetime.timezone.utc)
        out.append((round(t.timestamp() * 1000) * 10**6, [float(f[i]) for i in (3, 5, 7, 9)], f[11]))
    return out


def session(director, seconds=3.5):
    c = Client(director.port)
    try:
        s = c.new()
        for mode in ("ranging", "testing"):
            for word in ("start", "stop"):
                if word == "stop":
                    time.sleep(seconds)
                reply = c(f"session,{s},{word},{mode}")
                assert reply == "OK", reply
        assert c(f"session,{s},done") == "OK"
        return s, {name: c.download(s, name).decode() for name in FILES if name != "run_1/ptd_out.txt"}
    finally:
        c.close()


class Sources(unittest.TestCase):
    def marked(self, d, s, files, boundary):
        server = json.loads(files["power/server.json"])
        own = server["joulemark"]
        self.assertIs(own["official"], False)
        self.assertEqual(server["ptd_config"][0]["boundary"], boundary)
        with open(os.path.join(d.out, s, "NOT_OFFICIAL.txt"), encoding="utf-8") as f:
            self.assertIn("not an official", f.read())
        self.assertIn("Do not submit", own["notice"])
        self.assertIn("NOT A PTDaemon", files["power/ptd_logs.txt"])
        self.assertNotIn("Uncertainty checking", files["power/ptd_logs.txt"])
        for _, _, mark in rows(files["run_1/spl.txt"]):
            self.assertEqual(mark, f"{s}_testing_unofficial")
        r = subprocess.run([os.environ["JOULEMARK"], "mlperf", "check", os.path.join(d.out, s)], capture_output=True, text=True,
                           timeout=120)
        self.assertEqual(r.returncode, 1, r.stdout + r.stderr)
        self.assertIn("ot an official measurement", r.stdout)
        return server

    def yokogawa(self):
        """Each second is the mean of the analyzer's updates that end in it: off by at most the swing (200 W) over one
        update (250 ms) and one late reading (125 ms) at each end of the second, unless this machine was later."""
        with Analyzer("--waveform", "trapezoid:lo=300W,hi=500W,bottom=2s,rise=1s,top=2s,fall=1s", connect=False) as a:
            d = Director(CONF, "--source", "yokogawa:" + a.url, "--keep")
            try:
                s, files = session(d)
                d.end()
                server = self.marked(d, s, files, "wall")
            finally:
                d.end()
            a.close()
            self.assertTrue(server["ptd_config"][0]["simulated"])
            testing = rows(files["run_1/spl.txt"])
            self.assertGreaterEqual(len(testing), 3)
            for t, (w, v, amps, pf), _ in testing:
                self.assertLessEqual(abs(w - a.energy(t - 10**9, t)), 2 * .375 * 200, (t, w))
                self.assertAlmostEqual(v, 230, 1)
                self.assertLess(abs(w - v * amps * pf), 2 * .375 * 200)
            # the ranges of testing are those of ranging's largest voltage and current, times 1.1
            self.assertRegex(files["power/ptd_logs.txt"], "Ranges 300 V, [25] A, fixed")

    def ptd_meter(self):
        with Ptd("--waveform", "const:400W", connect=False) as p:
            d = Director(CONF + "source: meter\nsourceOption: ptd\n", "--ptd", f"127.0.0.1:{p.port}", "--keep", wait=False)
            try:
                d.ready()
                s, files = session(d, 5)
                d.end()
                self.marked(d, s, files, "wall")
            finally:
                d.end()
            good = [r for r in rows(files["run_1/spl.txt"]) if r[1][0] > 0]
            self.assertGreaterEqual(len(good), 2)
            for _, (w, v, amps, pf), _ in good:
                self.assertAlmostEqual(w, 400, 1)
                self.assertEqual((v, amps, pf), (-1, -1, -1))

    def software(self):
        """Two simulated GPUs of 300 W and whatever else this host tells: the GPUs are channels 1 and 2."""
        with tempfile.TemporaryDirectory() as tmp:
            state = os.path.join(tmp, "state")
            subprocess.run([SIM, "gpu", "--gpus", "2", "--profile", "ideal", "--waveform", "const:300W", "--state", state,
                            "--create-only"], check=True, capture_output=True, timeout=120)
            env = {"JOULEMARK_SIM_GPU": state, "JM_NVML_LIB": os.path.join(os.path.dirname(SIM), "gpu", "libnvidia-ml.so.1")}
            d = Director(CONF, "--source", "software", "--keep", "--sysfs-root", tmp, env=env)
            try:
                s, files = session(d)
                d.end()
                server = self.marked(d, s, files, "device{gpu}")
            finally:
                d.end()
            self.assertIn("not the power at the wall", server["joulemark"]["notice"])
            testing = files["run_1/spl.txt"].splitlines()
            self.assertIn(",Ch1,Watts,", testing[0])
            for _, (w, *_), _ in rows(files["run_1/spl.txt"]):
                self.assertAlmostEqual(w, 600, 0)

    def goes_away(self):
        """The analyzer dies while it measures: the session ends, says so, and is kept."""
        with Analyzer("--waveform", "const:400W", "--fault", "die@9s", connect=False) as a:
            d = Director(CONF, "--source", "yokogawa:" + a.url, "--keep")
            try:
                c = Client(d.port)
                s = c.new()
                self.assertEqual(c(f"session,{s},start,ranging"), "OK")
                a.p.wait(60)
                time.sleep(1)
                try:
                    self.assertTrue(c(f"session,{s},stop,ranging").startswith("Error"))
                except ConnectionError:
                    pass
                c.close()
            finally:
                d.end()
            self.assertTrue(os.path.exists(os.path.join(d.out, s, "INCOMPLETE.txt")))

    def test_sessions(self):
        """All at once: each takes its seconds."""
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for f in [pool.submit(x) for x in (lambda: patience.again(self.yokogawa), self.ptd_meter, self.software, self.goes_away)]:
                f.result()

    def test_refused(self):
        for source in ("nonsense", "yokogawa", "yokogawa:", "meter", "meter:nonsense", "software:x", "yokogawa:tcp://127.0.0.1:1"):
            r = subprocess.run([os.environ["JOULEMARK"], "mlperf", "director", "--source", source, "-l", "127.0.0.1:0", "-o",
                                tempfile.gettempdir()], capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
            self.assertIn(r.returncode, (2, 4), source)
            self.assertNotEqual(r.stderr, "")


if __name__ == "__main__":
    tap.main()

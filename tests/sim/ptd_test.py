#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""joulemark-sim ptd from outside: the conversation, the samples against integrals done by hand, what goes wrong."""
import datetime
import json
import math
import os
import random
import re
import socket
import subprocess
import time
import unittest

import simptd
import tap
from simptd import Ptd

FAST = ("--speed", "100")


def ptd(*args):
    return subprocess.run([simptd.PTD, *args], capture_output=True, text=True, timeout=20)


def fields(line):
    """Watts, volts, amps, PF of each group of a sample line, and its time in ns."""
    w = line.split(",")
    t = datetime.datetime.strptime(w[1], "%m-%d-%Y %H:%M:%S.%f").replace(tzinfo=datetime.timezone.utc)
    at = [i for i, x in enumerate(w) if x == "Watts"]
    return round(t.timestamp() * 1000) * 1000000, [[float(w[i + k]) for k in (1, 3, 5, 7)] for i in at]


class Tool(unittest.TestCase):
    def test_help(self):
        r = ptd("--help")
        self.assertEqual((r.returncode, r.stderr), (0, ""))
        self.assertLessEqual(max(len(line) for line in r.stdout.splitlines()), 80)

    def test_usage_errors(self):
        for args in (["--nonsense"], ["-p", "x"], ["-p", "70000"], ["50", "SIM"], ["49", "SIM", "more"], ["-c", "0"],
                     ["-c", "9"], ["--model", "WT9"], ["--ptd-version", "2.0"], ["--fault", "nonsense"],
                     ["--fault", "die=3"], ["--fault", "slow"], ["--fault", "slow=x"], ["--fault", "nan@x"],
                     ["--fault", "refuse=X"], ["--waveform", "const"], ["--waveform", "sine:mean=1W,swing=2W"],
                     ["--waveform", "csv:/nonexistent"], ["--split", "0.5,0.2"], ["-c", "2,3", "77", "SIM"],
                     ["--model", "WT310E", "77", "SIM"], ["--speed", "0"], ["-l"], ["--ranges", "300"]):
            r = ptd(*args)
            self.assertEqual(r.returncode, 2, args)
            self.assertEqual(len(r.stderr.splitlines()), 1, args)

    def test_occupied_port(self):
        with socket.create_server(("127.0.0.1", 0)) as s:
            r = ptd("-p", str(s.getsockname()[1]))
        self.assertEqual(r.returncode, 4)
        self.assertIn("cannot listen on 127.0.0.1", r.stderr)

    def test_environment(self):
        env = {**os.environ, "JOULEMARK_SIM_PTD": "--ptd-version 1.9.2 --fault nostart"}
        r = subprocess.run([simptd.PTD, "49", "SIM"], capture_output=True, text=True, timeout=20, env=env)
        self.assertEqual(r.returncode, 1)
        self.assertIn("Version 1.9.2-", r.stdout)


class Talk(unittest.TestCase):
    def test_never_passes_for_the_real_thing(self):
        with Ptd() as p:
            self.assertRegex(p.cmd("Identify"), r"JOULEMARK;SIM-WT310E;SIM0001;F0\.00$")
            p.close()
            self.assertIn("SIMULATED PTDaemon: NOT A MEASUREMENT", p.text)
            self.assertNotIn("SPEC PTDaemon Tool", p.text)

    def test_session(self):
        """The order of commands of a v5.1 session, and what the real one answers to each."""
        with Ptd("--waveform", "const:600W", *FAST) as p:
            go = "Starting untimed measurement, maximum 500000 samples at 1000ms with 0 rampup samples"
            self.assertEqual(p.cmd("Hello"), "Hello, PTDaemon here!")
            self.assertEqual(p.cmd("RR"), "Ranges,1,5.000000,1,300.000000")
            self.assertEqual(p.cmd("SR,V,Auto"), "Range V changed")
            self.assertEqual(p.cmd("SR,A,Auto"), "Range A changed")
            self.assertEqual(p.cmd("Go,1000,0,s_ranging"), go)
            while len(p.rows()) < 3:
                time.sleep(0.005)
            self.assertEqual(p.cmd("Stop"), "Stopping untimed measurement")
            self.assertEqual(p.cmd("RL,*,*"), "Invalid number of parameters")
            reply, lines = p.rl()
            self.assertEqual(reply, f"Last {len(lines)} samples")
            self.assertEqual([re.sub(",Mark,[^,]*", "", row) for row in p.rows()], lines)
            n = len(lines)
            self.assertEqual(p.cmd("Uncertainty"), f"Uncertainty,-1.0,10000000.000000,0.000000,{n},0,0,{n}")
            self.assertEqual(p.cmd("Watts"), f"Watts,600.000000,600.000000,600.000000,{n},0,{n}")
            self.assertEqual(p.cmd("SR,V,230"), "Range V changed")
            self.assertEqual(p.cmd("SR,A,3.0206000000000004"), "Range A changed")
            self.assertEqual(p.cmd("RR"), "Ranges,0,5.000000,0,300.000000")
            p.measure("s_testing", 2)
            # WT310E, 300 V x 5 A, PF 0.95: 0.1 + 0.05 x 1500 / (600/0.95) + 0.2 x tan(acos 0.95) = 0.2845 %
            n = len(p.rl()[1])
            self.assertEqual(p.cmd("Uncertainty"), f"Uncertainty,0.002845,0.002845,0.002845,{n},0,{n},0")
            self.assertEqual(p.cmd("Stop"), "Error: no measurement to stop")
            self.assertEqual(p.cmd("RL,1").split()[1], "1")
            p.recv()
            p.close()
            self.assertEqual(p.status, 0)
            log = p.text
            for text in (": Go with mark 's_ranging'", ": Completed test",
                         "Uncertainty checking for YokogawaWT310E is activated", "Volt range set to Auto",
                         "Ampere range set to Auto", "Volt range set to 300.000000V", "Amp range set to 5.000000A",
                         f"Response to client sent: {go}"):
                self.assertIn(text, log)
            for line in log.split("\n"):
                if re.match(r"\d", line):
                    self.assertRegex(line, r"^\d\d-\d\d-\d{4} \d\d:\d\d:\d\d\.\d{3}: ")

    def test_multichannel(self):
        for version, sum_line in (("1.9.2", [-1, -1, -1]), ("1.10.0", None), ("1.11.1", None)):
            with Ptd("-c", "1,3", "-y", "--ptd-version", version, "--waveform", "const:1800W", "--ranges", "300,5",
                     "--split", "0.5,0.3,0.2", *FAST, type="77") as p:
                p.measure("m", 2)
                row = p.rows("m")[0]
                self.assertRegex(row, r",Mark,m,Ch1,Watts,.*,Ch2,Watts,.*,Ch3,Watts,")
                _, (total, *ch) = fields(row)
                self.assertEqual(total[0], 1800)
                self.assertEqual([c[0] for c in ch], [900, 540, 360])
                self.assertAlmostEqual(sum(c[0] for c in ch), total[0], 9)
                for w, v, a, pf in ch:  # P = V A PF, as far as the display's digits go
                    self.assertLess(abs(w - v * a * pf), v * .0005 * pf + v * a * .00005 + .05)
                if sum_line:
                    self.assertEqual(total[1:], sum_line)
                    self.assertEqual(p.cmd("RL"), "Unknown command")
                else:
                    self.assertAlmostEqual(total[2], sum(c[2] for c in ch) / 3, 5)
                    reply, lines = p.rl("RL,*,*")
                    self.assertEqual(reply, f"Last {len(lines)} samples from sum channel and channels 1 - 3")
                    self.assertEqual(re.sub(",Ch.", "", re.sub(",Mark,[^,]*", "", row)), lines[0])

    def test_second_client_waits_and_a_client_may_go(self):
        with Ptd() as p:
            p.cmd("Hello")
            with socket.create_connection(("127.0.0.1", p.port), timeout=0.3) as other:
                other.sendall(b"Hello\r\n")
                with self.assertRaises(TimeoutError):
                    other.recv(10)
                p.sock.close()
                p.file.close()
                other.settimeout(10)
                self.assertEqual(other.recv(100), b"Hello, PTDaemon here!\r\n")
            p.sock = None

    def test_not_line_safe(self):
        """With --interleave the log holds RL's data as a real one does: a message in the middle of a line."""
        with Ptd("-c", "1", "--interleave", "--waveform", "const:1800W", *FAST, type="48") as p:
            p.measure("m", 12)
            p.rl("RL,*,*")
            p.close()
            self.assertRegex(p.text, r"(?m)^Time,.*PF,\d\.\d{6}\d\d-\d\d-\d{4} \d\d:\d\d:\d\d\.\d{3}: "
                                     r"Response to client sent: ,Watts,")

    def test_garbage_from_the_client(self):
        rng = random.Random(4)
        with Ptd(*FAST) as p:
            words = [b"Hello", b"RL", b"RL,*,*", b"SR,V", b"SR,,", b"SR,A,nan", b"SR,A,-1", b"SR,A,1e999", b"Go", b"Go,,,",
                     b"Go,1000,0,%s%n", b"Go,0,0,x", b"Go,99999999999999999999,0,x", b"Go,1000,-1,x", b"Stop", b",,,,,,,,,,",
                     b"", b"\0", b"Watts", b"Uncertainty,1", b"A" * 5000, b"Hello\x1b[2J", b"RL,99999999999999999999"]
            for _ in range(400):
                line = rng.choice(words) if rng.random() < .7 else bytes(rng.randrange(256) for _ in range(rng.randrange(80)))
                p.sock.sendall(line + rng.choice([b"\n", b"\r\n", b"", b"\r"]))
            p.sock.sendall(b"\r\nHello\r\n")
            p.sock.shutdown(socket.SHUT_WR)
            while p.file.read(65536):
                pass
            p.connect()
            self.assertEqual(p.cmd("Hello"), "Hello, PTDaemon here!")
            p.close()
            self.assertEqual(p.status, 0)
            self.assertNotIn("\x1b", p.text)


class Energy(unittest.TestCase):
    """Each sample is the mean of the true power over its second; integrals by hand."""

    def rows(self, waveform, n, *args):
        with Ptd("--waveform", waveform, "--ranges", "300,20", *args, *FAST) as p:
            p.measure("e", n)
            rows = [fields(r) for r in p.rows("e")]
            p.close()
            span = p.truth["measurements"][0]
            return p, rows, span, p.truth["start_unix_ns"], [p.energy(t - 10**9, t) for t, _ in rows[:2]]

    def test_samples_are_block_means(self):
        # 300 V x 20 A: 0.1 W is one step of the display, so each sample is within 0.05 W
        for waveform in ("const:600W", "sine:mean=1kW,swing=900W,period=7s", "trapezoid", "cycle:700W@4s,300W@11s",
                         "load:idle=100W,load=900W,before=3s,length=4s"):
            p, rows, span, _, true = self.rows(waveform, 12)
            for (_, groups), joules in zip(rows, true):
                self.assertLessEqual(abs(groups[0][0] - joules), .0501)
            said = sum(g[0][0] for _, g in rows)
            self.assertEqual(span["samples"], len(rows))
            self.assertAlmostEqual(span["said_joules"], said, 6)
            self.assertLessEqual(abs(said - span["true_joules"]), .0501 * len(rows), waveform)

    def energy(self, waveform, *spans):
        with Ptd("--waveform", waveform, connect=False) as p:
            p.close()
            t = p.truth["start_unix_ns"]
            return [p.energy(t + int(a * 1e9), t + int(b * 1e9)) for a, b in spans]

    def test_truth_by_hand(self):
        # trapezoid 120..600 W, 5 + 2 + 10 + 3 s: 600 + 720 + 6000 + 1080 J a cycle; 6..16 s: 1 s from 360 to 600, 9 s top
        self.assertEqual(self.energy("trapezoid", (0, 20), (20, 60), (6, 16), (-2, 0)), [8400, 16800, 480 + 5400, 240])
        # half a period of a sine: 400 x 5 + 150 x 10/pi
        half, whole = self.energy("sine:mean=400W,swing=150W,period=10s", (0, 5), (2.5, 12.5))
        self.assertAlmostEqual(half, 2000 + 1500 / math.pi, 6)
        self.assertAlmostEqual(whole, 4000, 6)
        self.assertEqual(self.energy("load:idle=100W,load=900W,before=3s,length=4s", (0, 10), (2.5, 3.5), (6.5, 8)),
                         [300 + 3600 + 300, 50 + 450, 450 + 100])
        self.assertEqual(self.energy("cycle:700W@4s,300W@11s", (0, 15), (3, 5)), [2800 + 3300, 1000])

    def test_csv(self):
        with Ptd(connect=False) as p:
            path = os.path.join(p.dir.name, "w.csv")
            with open(path, "w", encoding="ascii") as f:
                f.write("seconds,watts\n0,100\n10,200\n10,400\n20,400\n")
            # 100 to 200 W over 10 s, a step to 400 W, which stays
            self.assertEqual(self.energy("csv:" + path, (0, 10), (5, 15), (20, 30)), [1500, 875 + 2000, 4000])
            for bad in ("1\n", "0,x\n", "0,-1\n", "5,1\n4,1\n", "x" * 5000):
                with open(path, "w", encoding="ascii") as f:
                    f.write("0,1\n" + bad)
                self.assertEqual(ptd("--waveform", "csv:" + path).returncode, 2, bad)

    def test_simulated_node(self):
        """The wall of a simulated node: 150 W and 1.1 times what its GPUs draw."""
        with Ptd(connect=False) as first:
            state = os.path.join(first.dir.name, "state")
            subprocess.run([simptd.SIM, "gpu", "--gpus", "2", "--profile", "ideal", "--waveform", "const:300W", "--state", state,
                            "--create-only"], check=True, capture_output=True, timeout=20)
            with Ptd("--waveform", f"state:{state},base=150W,gain=1.1", "--ranges", "300,20") as p:
                p.measure("n", 2)
                _, groups = fields(p.rows("n")[-1])
            self.assertAlmostEqual(groups[0][0], 150 + 1.1 * 600, 6)


class Faults(unittest.TestCase):
    def test_refuses(self):
        with Ptd("--fault", "refuse=A") as p:
            self.assertEqual(p.cmd("SR,V,230"), "Range V changed")
            self.assertIn("Error", p.cmd("SR,A,3"))
            self.assertEqual(p.cmd("SR,A,Auto"), "Range A changed")
        with Ptd("--fault", "refuse=GO") as p:
            self.assertIn("Error", p.cmd("Go,1000,0,x"))
        with Ptd() as p:
            self.assertIn("Error", p.cmd("SR,A,1000"))

    def test_missed_samples(self):
        with Ptd("--waveform", "const:600W", "--ranges", "300,5", "--fault", "lose=2@3s", *FAST) as p:
            p.measure("l", 8)
            rows = [fields(r) for r in p.rows("l")]
            self.assertEqual(p.cmd("Watts").split(",")[5], "2")
            p.close()
        bad = [i for i, (_, g) in enumerate(rows) if g[0] == [-2] * 4]
        self.assertEqual(len(bad), 2)
        self.assertEqual(rows[bad[0]][0], rows[bad[0] - 1][0])
        self.assertEqual(rows[bad[0] - 1][0] - rows[bad[0] - 2][0], 3 * 10**9)
        self.assertEqual(p.text.count("WARNING: Missed 2 samples"), 1)

    def test_over_range(self):
        """-(3 + x) of watts and amps, volts and power factor as they are: x = V A PF as for good samples."""
        with Ptd("--waveform", "const:30W", "--volts", "245", "--pf", "0.49", "--ranges", "300,0.5", "--fault", "over=6.2@2s+3s", *FAST, "--model", "WT210",
                 type="8") as p:
            p.measure("o", 7)
            rows = [fields(r)[1][0] for r in p.rows("o")]
            unknown = p.cmd("Uncertainty").split(",")[7]
            p.close()
        over = [r for r in rows if r[0] < -2]
        self.assertGreaterEqual(len(over), 2)
        self.assertEqual(int(unknown), len(over))
        for w, v, a, pf in over:
            self.assertEqual(v, 245)
            self.assertAlmostEqual((-w - 3), 30, 6)
            self.assertLess(abs((-w - 3) - v * (-a - 3) * pf), .01)
        self.assertEqual(p.text.count("ERROR: Current exceeds peak value allowed for range 0.50A and CF 3."), len(over))

    def test_readings(self):
        with Ptd("--ranges", "300,5", "--fault", "nan@2s+1s", "--fault", "inf@4s+1s", "--fault", "dup@6s+1s", *FAST) as p:
            p.measure("r", 9)
            rows = [fields(r) for r in p.rows("r")]
            p.close()
        self.assertEqual([g[0] for _, g in rows].count([-1, -1, -1, -1]), 1)
        self.assertEqual([g[0] for _, g in rows].count([-1, 230, -1, -1]), 1)
        self.assertEqual(sum(a[0] == b[0] for a, b in zip(rows, rows[1:])), 1)
        self.assertIn("ERROR: Bad watts reading nan from WT310\nBuffer was 5.0E+00;0;300.0E+00;0", p.text)
        self.assertIn("ERROR: Current appears to be too high for set range", p.text)
        self.assertIn("ERROR: Bad watts reading inf from WT310", p.text)

    def test_clock_jump(self):
        with Ptd("--fault", "jump=-1h@3s", *FAST) as p:
            p.measure("j", 6)
            t = [fields(r)[0] for r in p.rows("j")]
        self.assertEqual(sorted(b - a for a, b in zip(t, t[1:]))[0], 10**9 - 3600 * 10**9)

    def test_dies(self):
        with Ptd("--fault", "die@testing:2s", *FAST) as p:
            p.measure("x_ranging", 4)
            p.cmd("Go,1000,0,x_testing")
            self.assertEqual(p.p.wait(10), 1)
            self.assertEqual(p.file.read(), b"")

    def test_closes_and_is_silent(self):
        with Ptd("--fault", "close@start:200ms") as p:
            self.assertEqual(p.file.read(), b"")
            p.connect()
            self.assertEqual(p.cmd("Hello"), "Hello, PTDaemon here!")
        with Ptd("--fault", "silent@start:100ms") as p:
            time.sleep(.15)
            p.sock.settimeout(.3)
            p.send("Hello")
            with self.assertRaises(TimeoutError):
                p.sock.recv(1)

    def test_answers(self):
        with Ptd("--fault", "slow=300ms", "--fault", "hello=Hello, somebody else", "--fault", "version=1.8.0") as p:
            t = time.monotonic()
            self.assertEqual(p.cmd("Hello"), "Hello, somebody else")
            self.assertGreaterEqual(time.monotonic() - t, .29)
            self.assertIn("version=1.8.0-", p.cmd("Identify"))
        with Ptd("--fault", "garbage") as p:
            p.send("Hello")
            self.assertNotIn(b"PTDaemon", p.file.readline())
        with Ptd("--fault", "short=2", *FAST) as p:
            p.measure("s", 5)
            n = int(p.cmd("RL").split()[1])
            p.send("Hello")
            got = [p.recv() for _ in range(n - 1)]
            self.assertEqual(got[-1], "Hello, PTDaemon here!")
        with Ptd("--fault", "cut=150", *FAST) as p:
            p.measure("c", 5)
            p.send("RL")
            self.assertEqual(len(p.file.read().split(b"\r\n", 1)[1]), 150)

    def test_starts_late(self):
        with Ptd("--fault", "late=500ms", connect=False) as p:
            self.assertIsNotNone(p.port)
        with Ptd("--fault", "nostart", connect=False) as p:
            self.assertEqual((p.p.wait(10), p.port), (1, None))


if __name__ == "__main__":
    tap.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""joulemark-sim analyzer from outside: commands, readings, integration against the truth, what goes wrong."""
import os
import random
import select
import socket
import struct
import subprocess
import time
import unittest

import simanalyzer
import tap
from simanalyzer import Analyzer

ITEMS = ":NUM:NORM:NUM 6;ITEM1 U,1;ITEM2 I,1;ITEM3 P,1;ITEM4 LAMB,1;ITEM5 WH,1;ITEM6 TIME,1"


class Commands(unittest.TestCase):
    def test_usage(self):
        for args in (["--nonsense", "1"], ["--model", "X"], ["--port", "70000"], ["--fault", "x"], ["--fault", "over"], ["--ranges", "1"],
                     ["--waveform", "x"], ["--split", "1,1"], ["more"], ["--seed"]):
            r = subprocess.run([simanalyzer.SIM, "analyzer", *args], capture_output=True, text=True, timeout=20)
            self.assertEqual((r.returncode, len(r.stderr.splitlines())), (2, 1), args)
        r = subprocess.run([simanalyzer.SIM, "analyzer", "--help"], capture_output=True, text=True, timeout=20)
        self.assertEqual(r.returncode, 0)
        self.assertLessEqual(max(map(len, r.stdout.splitlines())), 80)

    def test_identity(self):
        with Analyzer() as a:
            self.assertEqual(a.ask("*IDN?"), "JOULEMARK,SIM-WT310E,SIM0001,F0.00")

    def test_forms(self):
        """Short and long, with and without the leading word, several on a line, relative to the one before."""
        with Analyzer("--ranges", "300,5") as a:
            for q in (":INP:VOLT:RANG?", ":INPUT:VOLTAGE:RANGE?", "input:voltage:range?", ":VOLT:RANG?", " :Volt:Range? "):
                self.assertEqual(a.ask(q), "300.0E+00", q)
            # as in PTDaemon's log of a WT333E: ":CURR:RANG?;:CURRENT:AUTO?;:VOLT:RANG?;:VOLT:AUTO?"
            self.assertEqual(a.ask(":CFAC?;:CURR:RANG?;:CURR:AUTO?;:VOLT:RANG?;:VOLT:AUTO?"), "3;5.0E+00;0;300.0E+00;0")
            a.send(":COMM:HEAD ON")
            self.assertEqual(a.ask(":CURR:RANG?;AUTO?"), ":INPUT:CURRENT:RANGE 5.0E+00;:INPUT:CURRENT:AUTO 0")
            a.send(":COMM:HEAD OFF;:INP:CURR:RANG 500MA")
            self.assertEqual(a.ask(":CURR:RANG?"), "500.0E-03")
            a.send(ITEMS)
            self.assertEqual(a.ask(":NUM:NORM:ITEM4?;:NUM:NUM?;:NUM:ITEM7?"), "LAMB,1;6;NONE")
            self.assertEqual(a.ask(":STAT:ERR?"), '0,"No error"')

    def test_errors(self):
        with Analyzer() as a:
            for bad, code in ((":NONSENSE 1", 113), (":INP:VOLT", 113), ("::", 113), (":INP:VOLT:RANG 5000", 222), (":RATE 99", 222),
                              (":NUM:NORM:ITEM999 U,1", 222), (":NUM:NORM:ITEM1 U,4", 222), (":INTEG:TIM 1,99,1", 222),
                              ("*IDN", 113), ("x" * 5000, 113), (":INTEG:STOP", 800)):
                a.send(bad)
                self.assertEqual(a.ask(":STAT:ERR?").split(",")[0], str(code), bad)
            a.send(":INTEG:STAR")
            a.send(":INP:CURR:RANG 5")
            self.assertEqual(a.ask(":STAT:ERR?"), '813,"Invalid operation during integration"')
            self.assertEqual(a.ask(":INTEG:STAT?"), "STAR")

    def test_garbage(self):
        rng = random.Random(7)
        with Analyzer() as a:
            for _ in range(300):
                line = bytes(rng.choice(b":;?*,[]<> \0\xff" + b"NUMITEMVALIDN0123456789" * 2) for _ in range(rng.randrange(120)))
                a.sock.sendall(line + b"\n")
            a.sock.shutdown(socket.SHUT_WR)
            while a.file.read(65536):
                pass
            a.connect()
            self.assertIn("JOULEMARK", a.ask("*IDN?"))

    def test_pty(self):
        with Analyzer("--pty", "--port", "0", "--model", "WT210") as a:
            fd = os.open(a.places[1], os.O_RDWR | os.O_NOCTTY)
            try:
                os.write(fd, b"*IDN?\r\n")
                got = b""
                while not got.endswith(b"\r\n") and select.select([fd], [], [], 10)[0]:
                    got += os.read(fd, 100)
            finally:
                os.close(fd)
            self.assertEqual(got, b"JOULEMARK,SIM-760401,SIM0001,F0.00\r\n")
            self.assertIn("JOULEMARK", a.ask("*IDN?"))


class Readings(unittest.TestCase):
    def test_no_update_yet(self):
        with Analyzer("--waveform", "const:600W", "--ranges", "300,5", "--speed", "0.001") as a:  # the first one after 100 s
            a.send(ITEMS)
            self.assertEqual(a.ask(":NUM:NORM:VAL?").split(",")[2:4], ["NAN", "NAN"])

    def test_values(self):
        with Analyzer("--waveform", "const:600W", "--ranges", "300,5", "--speed", "20") as a:
            a.send(ITEMS)
            time.sleep(.05)
            u, i, p, lamb, wh, t = a.ask(":NUM:NORM:VAL?").split(",")
            self.assertEqual((u, p, lamb, wh, t), ("230.00E+00", "0.6000E+03", "0.9500E+00", "0.00000E+00", "0"))
            self.assertAlmostEqual(float(i), 600 / 230 / .95, 3)
            self.assertEqual(a.ask(":NUM:NORM:VAL? 3"), "0.6000E+03")
            a.send(":NUM:FORM FLOAT")
            a.sock.sendall(b":NUM:NORM:VAL?\n")
            block = a.file.read(6 + 24 + 1)
            self.assertEqual(block[:6], b"#40024")
            self.assertEqual(struct.unpack(">f", block[14:18])[0], 600)

    def test_no_data(self):
        """NAN and INF, the numbers for it of a WT210, the bits for it of FLOAT."""
        for model, nan, inf in (("WT310E", "NAN", "INF"), ("WT210", "9.91E+37", "9.9E+37")):
            for fault, want in (("nan", nan), ("inf", inf)):
                with Analyzer("--model", model, "--ranges", "300,5", "--fault", fault, "--speed", "20") as a:
                    a.send(ITEMS)
                    time.sleep(.05)
                    self.assertEqual(a.ask(":NUM:NORM:VAL? 3"), want)
                    if fault == "inf":
                        self.assertTrue(int(a.ask(":STAT:COND?")) & 64)
                    a.send(":NUM:FORM FLOAT;:NUM:NUM 3")
                    a.sock.sendall(b":NUM:NORM:VAL?\n")
                    self.assertEqual(a.file.read(19)[14:18].hex(), {"nan": "7e951bee", "inf": "7e94f56a"}[fault])

    def test_peak_over(self):
        with Analyzer("--waveform", "const:600W", "--ranges", "300,5", "--crest", "7", "--speed", "20") as a:
            time.sleep(.05)
            self.assertTrue(int(a.ask(":STAT:COND?")) & 256)
            self.assertTrue(int(a.ask(":STAT:EESR?")) & 256)
            self.assertFalse(int(a.ask(":STAT:EESR?")) & 256)

    def test_elements(self):
        with Analyzer("--model", "WT330_multichannel", "--waveform", "const:900W", "--split", "0.5,0.3,0.2", "--ranges", "300,5",
                      "--speed", "20") as a:
            a.send(":NUM:NORM:NUM 4;ITEM1 P,1;ITEM2 P,2;ITEM3 P,3;ITEM4 P,SIGMA")
            time.sleep(.05)
            self.assertEqual([float(x) for x in a.ask(":NUM:NORM:VAL?").split(",")], [450, 270, 180, 900])
            a.send(":NUM:NORM:PRES 2")
            self.assertEqual(a.ask(":NUM:ITEM1?;ITEM11?;ITEM21?"), "U,1;U,2;U,3")

    def test_integration(self):
        """WH against the integral of the waveform: exact to its six digits and one update at each end."""
        with Analyzer("--waveform", "trapezoid", "--ranges", "300,5", "--speed", "60") as a:
            a.send(ITEMS)
            a.send(":INTEG:MODE NORM;TIM 0,0,40;RES;STAR")
            while a.ask(":INTEG:STAT?") == "STAR":
                time.sleep(.01)
            wh, t = a.ask(":NUM:NORM:VAL?").split(",")[4:6]
            self.assertEqual((a.ask(":INTEG:STAT?"), t), ("TIM", "40"))
            # any 40 s of it are two whole cycles of 8400 J
            self.assertLessEqual(abs(float(wh) * 3600 - 16800), 5e-6 * 3600 + 1e-3)
            a.send(":INTEG:RES")
            self.assertEqual(a.ask(":NUM:VAL? 5"), "0.00000E+00")


class Faults(unittest.TestCase):
    def test_faults(self):
        with Analyzer("--fault", "silent") as a:
            a.sock.settimeout(.3)
            a.send("*IDN?")
            with self.assertRaises(TimeoutError):
                a.sock.recv(1)
        with Analyzer("--fault", "half") as a:
            a.send("*IDN?")
            self.assertEqual(a.sock.recv(100), b"JOULEMARK,SIM-WT3"[:17])
        with Analyzer("--fault", "garbage") as a:
            self.assertNotIn("JOULEMARK", a.ask("*IDN?"))
        with Analyzer("--fault", "idn") as a:
            self.assertNotIn("JOULEMARK", a.ask("*IDN?"))
        with Analyzer("--fault", "close@300ms") as a:
            self.assertEqual(a.file.read(), b"")
            a.connect()
            self.assertIn("JOULEMARK", a.ask("*IDN?"))
        with Analyzer("--fault", "die@200ms", connect=False) as a:
            self.assertEqual(a.p.wait(60), 1)


if __name__ == "__main__":
    tap.main()

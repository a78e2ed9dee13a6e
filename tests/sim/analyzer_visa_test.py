#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyVISA (PyPI: pyvisa, pyvisa-py), which laboratories use, reads the simulated analyzer: over TCP and over VXI-11, found
by its port and by the portmapper, and its FLOAT blocks by its own parser. So does lxi (Debian: lxi-tools), where it is there.
A second opinion on the wire, and the meter beside it."""
import json
import os
import shutil
import socket
import subprocess
import sys
import unittest

import pypi
import tap
from simanalyzer import Analyzer

PYTHON, WHY = pypi.prepare("visa", "pyvisa-py==0.8.1", "pyvisa_py")

PROGRAM = """
import json, sys, time, pyvisa, pyvisa_py.protocols.rpc as rpc
rpc.PMAP_PORT = int(sys.argv[2])
r = pyvisa.ResourceManager("@py").open_resource(sys.argv[1], read_termination="\\n", write_termination="\\n")
out = {"idn": r.query("*IDN?")}
r.write(":NUM:FORM ASCII;:NUM:NORM:NUM 3;ITEM1 U,1;ITEM2 I,1;ITEM3 P,1")
time.sleep(.6)
out["ascii"] = r.query_ascii_values(":NUM:NORM:VAL?")
r.write(":NUM:FORM FLOAT")
out["block"] = r.query_binary_values(":NUM:NORM:VAL?", datatype="f", is_big_endian=True)
out["error"] = r.query(":STAT:ERR?")
print(json.dumps(out))
"""


class Visa(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        why = WHY
        if why:
            raise unittest.SkipTest(why)

    def read(self, resource, portmap=111):
        r = subprocess.run([PYTHON, "-c", PROGRAM, resource, str(portmap)], capture_output=True, text=True, timeout=60)
        self.assertEqual(r.returncode, 0, r.stderr)
        out = json.loads(r.stdout)
        self.assertTrue(out["idn"].startswith("JOULEMARK,SIM-WT310E,"))
        self.assertEqual(out["ascii"], [230, 2.746, 600])
        for a, b in zip(out["block"], out["ascii"]):
            self.assertAlmostEqual(a, b, 4)
        self.assertEqual(out["error"], '0,"No error"')

    def test_reads(self):
        with Analyzer("--port", "0", "--vxi11", "0", "--portmap", "0", "--waveform", "const:600W", "--ranges", "300,5", connect=False) as a:
            a.places += [a.p.stdout.readline().strip(), a.p.stdout.readline().strip()]
            tcp, core, mapped = a.places
            host, port = tcp[6:].split(":")
            portmap = int(mapped.rsplit("=", 1)[1])
            self.read(f"TCPIP::{host}::{port}::SOCKET")
            self.read(f"TCPIP::{host},{core.split(':')[2].split('/')[0]}::inst0::INSTR")
            self.read(f"TCPIP::{host}::inst0::INSTR", portmap)
            for address in (core, mapped):  # the same by the meter
                r = subprocess.run([os.environ["JOULEMARK"], "meters", "-m", "yokogawa", "--yokogawa", address, "--no-measure", "--json"],
                                   capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
                m = next(m for m in json.loads(r.stdout)["meters"] if m["name"] == "yokogawa")
                self.assertEqual({c["name"]: c["value"] for c in m["channels"]}["power"], 600)

    def test_lxi(self):
        lxi = shutil.which("lxi")
        if not lxi:
            self.skipTest("no lxi")
        try:  # it asks the portmapper at its own port only
            with socket.socket() as s:
                s.bind(("127.0.0.1", 111))
        except OSError:
            self.skipTest("port 111 cannot be had")
        with Analyzer("--port", "0", "--vxi11", "0", "--portmap", "111", connect=False) as a:
            for how in ([], ["-r", "-p", a.url.rsplit(":", 1)[1]]):
                r = subprocess.run([lxi, "scpi", *how, "-a", "127.0.0.1", "*IDN?"], capture_output=True, text=True, timeout=30)
                self.assertIn("JOULEMARK,SIM-WT310E", r.stdout, r.stderr)


if __name__ == "__main__":
    tap.main()

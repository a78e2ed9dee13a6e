#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyVISA (PyPI: pyvisa, pyvisa-py), which laboratories use, reads the simulated analyzer: over TCP, and its FLOAT blocks
by its own parser. A second opinion on the wire."""
import json
import subprocess
import unittest

import pypi
import tap
from simanalyzer import Analyzer

PYTHON, WHY = pypi.prepare("visa", "pyvisa-py==0.8.1", "pyvisa_py")

PROGRAM = """
import json, sys, time, pyvisa
host, port = sys.argv[1].rsplit("/", 1)[1].split(":")
r = pyvisa.ResourceManager("@py").open_resource(f"TCPIP::{host}::{port}::SOCKET", read_termination="\\n", write_termination="\\n")
out = {"idn": r.query("*IDN?")}
r.write(":NUM:NORM:NUM 3;ITEM1 U,1;ITEM2 I,1;ITEM3 P,1")
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

    def test_reads(self):
        with Analyzer("--waveform", "const:600W", "--ranges", "300,5", connect=False) as a:
            r = subprocess.run([PYTHON, "-c", PROGRAM, a.url], capture_output=True, text=True, timeout=60)
            self.assertEqual(r.returncode, 0, r.stderr)
            out = json.loads(r.stdout)
        self.assertTrue(out["idn"].startswith("JOULEMARK,SIM-WT310E,"))
        self.assertEqual(out["ascii"], [230, 2.746, 600])
        for a, b in zip(out["block"], out["ascii"]):
            self.assertAlmostEqual(a, b, 4)
        self.assertEqual(out["error"], '0,"No error"')


if __name__ == "__main__":
    tap.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The meter modbus against PyPI's pymodbus, whose framing and byte orders are another hand's: TCP, and RTU over a pseudo-terminal."""
import json
import os
import select
import socket
import subprocess
import sys
import tempfile
import threading
import time
import tty
import unittest

import pypi
import tap

JOULEMARK = os.environ["JOULEMARK"]
PYTHON, WHY = pypi.prepare("modbus", "pymodbus==3.6.9 pyserial==3.5", "pymodbus, serial")

SERVER = """
import sys
from pymodbus.server import StartSerialServer
from pymodbus.framer import ModbusRtuFramer
from pymodbus.constants import Endian
from pymodbus.datastore import ModbusSequentialDataBlock, ModbusServerContext, ModbusSlaveContext
from pymodbus.payload import BinaryPayloadBuilder
from pymodbus.server import StartTcpServer

def block(values):
    b = ModbusSequentialDataBlock(0, [0] * 4000)
    for address, (kind, word, v) in values.items():
        p = BinaryPayloadBuilder(byteorder=Endian.BIG, wordorder=word)
        getattr(p, "add_" + kind)(v)
        b.setValues(address, p.to_registers())
    return b

B, L = Endian.BIG, Endian.LITTLE
inputs = block({0x0c: ("32bit_float", B, 344.25), 0x48: ("32bit_float", B, 16384.5), 0x28: ("32bit_int", L, 12345), 0x34: ("32bit_int", L, 98765)})
holding = block({0xbf3: ("32bit_float", B, 1.5), 0xc83: ("64bit_int", B, 1234567), 65: ("32bit_float", B, 700.0), 801: ("64bit_float", B, 7654321.25)})
context = ModbusServerContext(slaves=ModbusSlaveContext(ir=inputs, hr=holding, zero_mode=True), single=True)
if sys.argv[1][0] == "/":
    StartSerialServer(context=context, framer=ModbusRtuFramer, port=sys.argv[1], baudrate=9600)
else:
    StartTcpServer(context=context, address=("127.0.0.1", int(sys.argv[1])))
"""


class Line:
    """Two pseudo-terminals as the ends of one serial line."""
    def __init__(self):
        self.fd = [os.openpty(), os.openpty()]
        for pair in self.fd:
            tty.setraw(pair[1])
        self.ends = [os.ttyname(pair[1]) for pair in self.fd]
        self.stop = False
        self.thread = threading.Thread(target=self.carry)
        self.thread.start()

    def carry(self):
        a, b = self.fd[0][0], self.fd[1][0]
        while not self.stop:
            for fd in select.select([a, b], [], [], .1)[0]:
                os.write(b if fd == a else a, os.read(fd, 4096))

    def close(self):
        self.stop = True
        self.thread.join()
        for fd in (x for pair in self.fd for x in pair):
            os.close(fd)


class Pymodbus(unittest.TestCase):
    def read(self, model, address):
        with tempfile.TemporaryDirectory() as d:
            with open(d + "/c.yaml", "w") as f:
                f.write("meters: [{name: wall, meter: modbus, model: %s, address: \"%s\"}]\n" % (model, address))
            r = subprocess.run([JOULEMARK, "meters", "--config", d + "/c.yaml", "-m", "wall", "--no-measure", "--json"],
                               capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
        self.assertEqual(r.returncode, 0, r.stderr)
        return next(m for m in json.loads(r.stdout)["meters"] if (m.get("configured") or {}).get("name") == "wall")

    def test_rtu(self):
        line = Line()
        p = subprocess.Popen([PYTHON, "-c", SERVER, line.ends[0]], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            for _ in range(60):  # it may still be starting
                m = self.read("sdm120", line.ends[1])
                if m["state"] == "ok":
                    break
            self.assertEqual(m["state"], "ok", m["reason"])
            c = {x["name"]: x["value"] for x in m["channels"]}
            self.assertAlmostEqual(c["power"], 344.25)
            self.assertAlmostEqual(c["energy"], 16384.5 * 3.6e6, delta=1)
        finally:
            p.kill()
            p.wait(10)
            line.close()

    def test_models(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        p = subprocess.Popen([PYTHON, "-c", SERVER, str(port)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            for _ in range(600):
                try:
                    socket.create_connection(("127.0.0.1", port), 1).close()
                    break
                except OSError:
                    time.sleep(.1)
            for model, power, energy in (("sdm120", 344.25, 16384.5 * 3.6e6), ("em340", 1234.5, 9876.5 * 3.6e6),
                                         ("iem3000", 1500, 1234567 * 3600), ("pac2200", 700, 7654321.25 * 3600)):
                with self.subTest(model):
                    m = self.read(model, "127.0.0.1:%d" % port)
                    self.assertEqual(m["state"], "ok", m["reason"])
                    c = {x["name"]: x["value"] for x in m["channels"]}
                    self.assertAlmostEqual(c["power"], power)
                    self.assertAlmostEqual(c["energy"], energy, delta=1)
        finally:
            p.terminate()
            p.wait(10)


if __name__ == "__main__":
    if WHY:
        print(WHY)
        sys.exit(77)
    tap.main()

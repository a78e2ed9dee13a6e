#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Energy meters by Modbus TCP and RTU against a small server of our own hand."""
import json
import os
import subprocess
import tempfile
import unittest

import tap
from modbus_server import Server, place, words

JOULEMARK = os.environ["JOULEMARK"]


def low_first(fmt, v):
    return list(reversed(words(fmt, v)))


def meters(address, extra, code=0, timeout="60s"):
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, "c.yaml")
        with open(path, "w") as f:
            f.write("meters:\n  - name: wall\n    meter: modbus\n    timeout: %s\n    address: \"%s\"\n" % (timeout, address) +
                    "".join("    %s\n" % line for line in extra.splitlines()))
        r = subprocess.run([JOULEMARK, "meters", "--config", path, "-m", "wall", "--no-measure", "--json"], capture_output=True,
                           text=True, timeout=240, stdin=subprocess.DEVNULL)
    if code is None:
        return r
    assert r.returncode == code, r.stderr
    return next(m for m in json.loads(r.stdout)["meters"] if (m.get("configured") or {}).get("name") == "wall")


class Models(unittest.TestCase):
    def check(self, registers, extra, power, energy, step=None, rtu=False, unit=1):
        with Server(registers, unit=unit, rtu=rtu) as s:
            m = meters(s.address, extra)
        self.assertEqual(m["state"], "ok", m["reason"])
        c = {x["name"]: x for x in m["channels"]}
        for name, want in (("power", power), ("energy", energy)):
            self.assertEqual(c[name]["status"], "ok", c[name])
            self.assertAlmostEqual(c[name]["value"], want, delta=abs(want) * 1e-9)
        self.assertEqual(c["power"]["domain"]["kind"], "inlet_ac")
        if step:
            self.assertAlmostEqual(c["energy"]["accuracy_offset"], step, delta=step * 1e-6)

    def test_eastron(self):
        """16384.5 kWh as float32: neighbours are 2^-9 kWh = 7031.25 J apart."""
        r = {**place(4, 0x0c, words("f", 344.25)), **place(4, 0x48, words("f", 16384.5))}
        self.check(r, "model: sdm120", 344.25, 16384.5 * 3.6e6, 7031.25)
        r = {**place(4, 0x34, words("f", 1200)), **place(4, 0x48, words("f", 1))}
        self.check(r, "model: sdm630", 1200, 3.6e6)

    def test_others(self):
        """Hundredths of W and of kW, tenths of W, kW; energies of 64, 32 and float bits."""
        r = {**place(3, 0x5b14, words("i", 123456)), **place(3, 0x5000, words("Q", 98765))}
        self.check(r, "model: abb", 1234.56, 987.65 * 3.6e6, 36e3)
        r = {**place(3, 0x5012, words("f", 1.25)), **place(3, 0x600c, words("f", 64))}
        self.check(r, "model: pro380", 1250, 64 * 3.6e6)
        r = {**place(3, 0xc568, words("i", 321)), **place(3, 0xc652, words("I", 77))}
        self.check(r, "model: countis", 3210, 77 * 3.6e6, 3.6e6)
        r = {**place(3, 0x2012, words("f", 8123.5)), **place(3, 0x101e, words("f", 2))}
        self.check(r, "model: dtsu666", 812.35, 2 * 3.6e6)

    def test_gavazzi_low_word_first(self):
        r = {**place(4, 0x28, low_first("i", 12345)), **place(4, 0x42, low_first("i", 98765))}
        self.check(r, "model: em24", 1234.5, 9876.5 * 3.6e6, 360e3)
        r = {**place(4, 0x28, low_first("i", 12345)), **place(4, 0x34, low_first("i", 98765))}
        self.check(r, "model: em340", 1234.5, 9876.5 * 3.6e6)

    def test_schneider_kw_and_int64(self):
        r = {**place(3, 0x0bf3, words("f", 1.5)), **place(3, 0x0c83, words("q", 1234567))}
        self.check(r, "model: iem3000", 1500, 1234567 * 3600, 3600)

    def test_siemens_double(self):
        r = {**place(3, 65, words("f", 700)), **place(3, 801, words("d", 7654321.25))}
        self.check(r, "model: pac2200", 700, 7654321.25 * 3600)

    def test_registers_of_the_user(self):
        r = {**place(3, 10, [0xfff6]), **place(3, 20, low_first("I", 4000000))}
        self.check(r, "unit: 7\nregisters:\n  - {quantity: power, address: 10, type: i16, unit: W, scale: 1}\n"
                      "  - {quantity: energy, address: 20, type: u32, order: cdab, unit: Wh}", -100, 4e6 * 3600, unit=7)

    def test_rtu(self):
        r = {**place(4, 0x0c, words("f", 99.5)), **place(4, 0x48, words("f", 2))}
        self.check(r, "model: sdm230\nunit: 3\nbaud: 19200\nparity: even", 99.5, 7.2e6, rtu=True, unit=3)


class Goes_wrong(unittest.TestCase):
    def test_yokogawa_errors_and_peaks(self):
        for p, over, status in ((8.16, 1, "implausible"), (float("nan"), 0, "absent"), (float("inf"), 0, "absent"), (16.2, 0, "ok")):
            with self.subTest(p), Server({**place(4, 0x7d4, words("f", p)), **place(4, 2, [over])}) as s:
                self.assertEqual(meters(s.address, "model: wt300e")["channels"][0]["status"], status)

    def test_no_such_registers_and_silence(self):
        with Server({}) as s:
            self.assertIn("counted from 0", meters(s.address, "model: sdm120")["reason"])
        with Server({}, unit=5, rtu=True) as s:
            self.assertIn("does not answer", meters(s.address, "model: sdm120", timeout="1s")["reason"])

    def test_a_line_that_is_cut_is_opened_again(self):
        r = {**place(4, 0x0c, words("f", 5)), **place(4, 0x48, words("f", 2))}
        with Server(r) as s:
            s.close_after = 2  # after what opening asks
            m = meters(s.address, "model: sdm120")
            with tempfile.TemporaryDirectory() as d:
                with open(d + "/c.yaml", "w") as f:
                    f.write("meters: [{name: wall, meter: modbus, model: sdm120, address: \"%s\", interval: 100ms}]\n" % s.address)
                p = subprocess.run([JOULEMARK, "run", "-q", "--no-summary", "--config", d + "/c.yaml", "-m", "wall", "-o",
                                    d + "/r.jmr", "--", "sleep", "1"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
                self.assertEqual(p.returncode, 0, p.stderr)
                doc = json.loads(subprocess.run([JOULEMARK, "show", "--json", d + "/r.jmr"], capture_output=True, text=True).stdout)
        self.assertEqual(m["state"], "ok")
        self.assertGreater(s.requests, 8)
        self.assertTrue([x for x in doc["results"] if x["metric"] == "power.mean" and x["value"]])

    def test_configuration(self):
        for extra, word in (("model: sdm999", "sdm999"), ("", "model or registers"), ("model: sdm120\nparity: mark", "mark"),
                            ("registers: [{quantity: power, address: 1, type: i16, unit: kWh}]", "W or kW"),
                            ("registers: [{quantity: power, address: 1, type: i12, unit: W}]", "i12"),
                            ("registers: [{quantity: energy, address: 65535, type: f32, unit: kWh}]", "65535"),
                            ("registers: [{quantity: power, type: i16, unit: W}]", "address")):
            r = meters("localhost", extra, code=None)
            self.assertEqual(r.returncode, 2, (extra, r.stderr))
            self.assertIn(word, r.stderr)


if __name__ == "__main__":
    tap.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PDUs by SNMP against a small agent of our own hand: scales, sentinels, resets, chains and refusals, a vendor at a time.
Raw integers are as the MIBs define them; the expected figures beside them are reckoned by hand."""
import json
import os
import subprocess
import tempfile
import time
import unittest

import patience
import tap
from snmp_agent import Agent

JOULEMARK = os.environ["JOULEMARK"]
SYSTEM = "1.3.6.1.2.1.1."


def system(enterprise, uptime=123456):
    return {SYSTEM + "1.0": ("octets", "PDU of a test"), SYSTEM + "2.0": ("oid", enterprise), SYSTEM + "3.0": ("ticks", uptime)}


def meters(agent, extra="", env=None, code=0, timeout="30s"):
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, "c.yaml")
        with open(path, "w") as f:
            f.write("meters:\n  - name: pdu\n    meter: snmp\n    address: \"%s\"\n    timeout: %s\n" % (agent.address, timeout) +
                    "".join("    %s\n" % line for line in extra.splitlines()))
        r = subprocess.run([JOULEMARK, "meters", "--config", path, "-m", "pdu", "--no-measure", "--json"], capture_output=True,
                           text=True, timeout=240, stdin=subprocess.DEVNULL, env={**os.environ, **(env or {})})
    if code is None:
        return r
    assert r.returncode == code, r.stderr
    return next(m for m in json.loads(r.stdout)["meters"] if (m.get("configured") or {}).get("name") == "pdu")


class Vendors(unittest.TestCase):
    def channels(self, objects, extra="", **kw):
        with Agent(objects, **kw) as a:
            m = meters(a, extra)
        self.assertEqual(m["state"], "ok", m["reason"])
        self.facts = m["facts"]
        return {(c["device"], c["name"]): c for c in m["channels"]}

    def value(self, c, device, name, want, status="ok"):
        got = c[(device, name)]
        self.assertEqual(got["status"], status, got)
        if want is not None:
            self.assertAlmostEqual(got["value"], want, delta=abs(want) * 1e-9, msg=got)
        return got

    def test_apc(self):
        t = "1.3.6.1.4.1.318.1.1.26."
        o = system("1.3.6.1.4.1.318.1.3.4.6")
        o.update({t + "4.3.1.5.1": ("int", 123), t + "4.3.1.9.1": ("int", 4567), t + "4.3.1.10.1": ("octets", "01/02/2024 03:04:05"),
                  t + "9.4.3.1.7.1": ("int", 350), t + "9.4.3.1.7.2": ("int", -1), t + "9.4.3.1.7.3": ("int", 880),
                  t + "9.4.3.1.11.1": ("int", 12), t + "9.4.3.1.12.1": ("octets", "01/02/2024 03:04:05")})
        c = self.channels(o)
        self.value(c, "pdu", "power", 1230)          # 123 x 0.01 kW
        self.value(c, "pdu", "energy", 456.7 * 3.6e6)  # 4567 x 0.1 kWh
        self.value(c, "pdu/1", "power", 350)         # W: another scale in the same family
        self.value(c, "pdu/1", "energy", 1.2 * 3.6e6)
        self.value(c, "pdu/3", "power", 880)
        self.assertNotIn(("pdu/2", "power"), c)      # -1 is not there
        self.assertEqual(c[("pdu", "power")]["domain"]["kind"], "rack")

    def test_makers_of_racks(self):
        """Panduit, Schleifenbauer, Gude and Vertiv Liebert; integers as their MIBs define them."""
        t = "1.3.6.1.4.1.19536.10.1."
        o = system("1.3.6.1.4.1.19536.10")
        o.update({t + "2.1.1.4.1": ("int", 2400), t + "2.1.1.5.1": ("int", 2300), t + "2.1.1.6.1": ("int", 12), t + "2.1.1.8.1": ("int", 12345),
                  t + "2.1.1.9.1": ("int", 96), t + "5.1.1.13.1.1": ("int", 410), t + "5.1.1.14.1.1": ("int", 700), t + "5.1.1.13.1.2": ("int", -1)})
        c = self.channels(o)
        self.value(c, "pdu", "power", 2300)
        self.value(c, "pdu", "energy", 12345 * 3600.0)  # the resettable counter: Wh, not the whole kWh beside it
        self.value(c, "pdu/1", "power", 410)
        self.value(c, "pdu/1", "energy", 700 * 3600.0)
        self.assertNotIn(("pdu/2", "power"), c)
        t = "1.3.6.1.4.1.31034.12.1.1.2."
        o = system("1.3.6.1.4.1.31034.11.1")
        for line, (w, cv, ca, pf) in enumerate([(330, 22900, 150, 9610), (0, 22860, 0, 10000), (210, 22880, 96, 9560)], 1):
            o.update({t + f"6.1.1.10.210.{line}": ("int", w), t + f"6.1.1.7.210.{line}": ("int", cv), t + f"6.1.1.5.210.{line}": ("int", ca),
                      t + f"6.1.1.4.210.{line}": ("int", pf), t + f"6.1.1.2.210.{line}": ("int", 66)})
        c = self.channels(o)
        self.value(c, "pdu/L1", "power", 330)            # 229 V x 1.5 A x 0.961 = 330 W: no factor between them
        self.value(c, "pdu", "power", 540)
        self.value(c, "pdu", "energy", 3 * 66 * 3.6e6)
        o = system("1.3.6.1.4.1.28507.81")               # the product's number stands in the tree as well
        for product in (43, 81):
            t = f"1.3.6.1.4.1.28507.{product}.1.5.1.2.1."
            o.update({t + "2.1": ("int", 1), t + "3.1": ("gauge", 1109209), t + "4.1": ("int", product), t + "5.1": ("gauge", 370),
                      t + "6.1": ("gauge", 228), t + "8.1": ("int", 960)})
        c = self.channels(o)
        self.assertEqual(len(c), 2, c)
        self.value(c, "pdu", "power", 81)                # 228 V x 0.37 A x 0.96 = 81 W
        self.value(c, "pdu", "energy", 1109209 * 3600.0)
        o["1.3.6.1.4.1.28507.81.1.5.1.2.1.2.1"] = ("int", 0)  # "data not active"
        self.value(self.channels(o), "pdu", "power", None, "absent")
        t = "1.3.6.1.4.1.476.1.42.3.8."
        o = system("1.3.6.1.4.1.476.1.42")
        o.update({t + "30.20.1.65.1.1": ("gauge", 4607), t + "30.20.1.50.1.1": ("gauge", 46790), t + "50.20.1.65.1.1.3": ("gauge", 220)})
        c = self.channels(o)
        self.value(c, "pdu", "power", 4607)
        self.value(c, "pdu", "energy", 4679 * 3.6e6)     # tenths of kWh
        self.value(c, "pdu/3", "power", 220)

    def test_phases_of_which_one_is_missing(self):
        """openDCIM PR 605: -1 of an unused phase must not be summed."""
        t = "1.3.6.1.4.1.318.1.1.26.6.3.1.7."
        o = system("1.3.6.1.4.1.318.1.3.4.6")
        o.update({t + "1": ("int", 100), t + "2": ("int", 120), t + "3": ("int", -1)})
        c = self.channels(o)
        self.value(c, "pdu/L1", "power", 1000)
        self.value(c, "pdu/L3", "power", None, "absent")
        self.assertIsNone(self.value(c, "pdu", "power", None, "absent")["value"])
        o[t + "3"] = ("int", 80)
        self.value(self.channels(o), "pdu", "power", 3000)

    def test_raritan_digits(self):
        """collectd issue 3109: values are divided by 10^decimalDigits of the sensor."""
        v, d = "1.3.6.1.4.1.13742.6.5.4.3.1.", "1.3.6.1.4.1.13742.6.3.5.4.1.7."
        o = system("1.3.6.1.4.1.13742.6")
        for outlet, watts, wh in ((1, 1234, 5000000), (2, 20, 4294967295)):
            for kind, value, digits in ((5, watts, 1), (8, wh, 0), (6, watts + 3, 1)):
                i = "1.%d.%d" % (outlet, kind)
                o.update({v + "4." + i: ("gauge", value), d + i: ("gauge", digits), v + "2." + i: ("int", 1)})
        o[v + "2.1.2.5"] = ("int", 2)  # not available: its number means nothing
        c = self.channels(o)
        self.value(c, "pdu/1", "power", 123.4)
        got = self.value(c, "pdu/1", "energy", 5e6 * 3600)
        self.assertAlmostEqual(got["wraps_at"], 2**32 * 3600)
        self.value(c, "pdu/2", "power", None, "absent")
        self.value(c, "pdu/2", "energy", 4294967295 * 3600)

    def test_eaton(self):
        e = "1.3.6.1.4.1.534.6.6.7."
        o = system("1.3.6.1.4.1.534.6.6.7")
        o.update({e + "6.5.1.3.0.1": ("int", 321), e + "6.5.1.4.0.1": ("int", 98765), e + "6.5.1.5.0.1": ("int", 1700000000),
                  e + "6.4.1.3.0.1": ("int", 1450), e + "6.3.1.2.0.1": ("int", 230000), e + "6.5.1.6.0.1": ("int", 962),
                  e + "3.5.1.4.0.1": ("int", 900), e + "3.5.1.5.0.1": ("int", 7)})
        c = self.channels(o)
        self.value(c, "pdu/1", "power", 321)  # 230 V x 1.45 A x 0.962 = 320.8 W: agrees
        self.value(c, "pdu/1", "energy", 98765 * 3600)
        self.value(c, "pdu", "power", 900)

    def test_servertech_outlet_wh_and_cord_tenth_of_kwh(self):
        s = "1.3.6.1.4.1.1718.4.1."
        o = system("1.3.6.1.4.1.1718.4")
        o.update({s + "8.3.1.7.1.1.1": ("int", 400), s + "8.3.1.14.1.1.1": ("int", 1000), s + "8.3.1.7.1.1.2": ("int", 5),
                  s + "3.3.1.3.1.1": ("int", 405), s + "3.3.1.10.1.1": ("int", 1000)})
        c = self.channels(o)
        self.value(c, "pdu/1", "energy", 1000 * 3600)
        self.value(c, "pdu", "energy", 100 * 3.6e6)

    def test_others(self):
        for enterprise, objects, want in (
                ("1.3.6.1.4.1.21239.2", {"1.3.6.1.4.1.21239.5.2.3.1.1.9.1": 777, "1.3.6.1.4.1.21239.5.2.3.1.1.12.1": 5,
                                         "1.3.6.1.4.1.21239.5.2.3.6.1.12.4": 33}, {("pdu", "power"): 777, ("pdu", "energy"): 18000, ("pdu/4", "power"): 33}),
                ("1.3.6.1.4.1.3808.1.1.6", {"1.3.6.1.4.1.3808.1.1.6.4.4.1.7.1": 640, "1.3.6.1.4.1.3808.1.1.3.3.5.1.1.8.2": 21},
                 {("pdu/L1", "power"): 640, ("pdu/2", "power"): 21}),
                ("1.3.6.1.4.1.232.165.11", {"1.3.6.1.4.1.232.165.11.2.1.1.5.1": 900, "1.3.6.1.4.1.232.165.11.2.1.1.4.1": 922,
                                            "1.3.6.1.4.1.232.165.11.5.1.1.13.1.3": 84}, {("pdu", "power"): 900, ("pdu/3", "power"): 84}),
                ("1.3.6.1.4.1.674.10903.200.2.200", {"1.3.6.1.4.1.674.10903.200.2.200.110.2.1.3.1": 500, "1.3.6.1.4.1.674.10903.200.2.200.130.2.2.1.7.6": 12},
                 {("pdu", "power"): 500, ("pdu/6", "energy"): 12 * 3.6e6}),
                ("1.3.6.1.4.1.10418.17.1.7", {"1.3.6.1.4.1.10418.17.2.5.5.1.60.1.1.4": 1234, "1.3.6.1.4.1.10418.17.2.5.5.1.105.1.1.4": 77},
                 {("pdu/4", "power"): 123.4, ("pdu/4", "energy"): 77 * 3600}),
                ("1.3.6.1.4.1.38446.1", {"1.3.6.1.4.1.38446.1.2.4.1.4.1": 868, "1.3.6.1.4.1.38446.1.2.4.1.9.1": 6301},
                 {("pdu", "power"): 868, ("pdu", "energy"): 630.1 * 3.6e6})):
            with self.subTest(enterprise):
                o = system(enterprise)
                o.update({k: ("int", v) for k, v in objects.items()})
                c = self.channels(o)
                for (device, name), x in want.items():
                    self.value(c, device, name, x)

    def test_walks(self):
        """What public walks hold: APC AP8641, AP7902B (PyPI's snmpsim-data), Raritan Dominion PX and ServerTech Sentry 4 (LibreNMS)."""
        a = "1.3.6.1.4.1.318.1.1."
        o = system("1.3.6.1.4.1.318.1.3.4.6")
        o.update({a + "12.1.16.0": ("int", 1230), a + "26.4.3.1.5.1": ("int", 121), a + "26.4.3.1.9.1": ("int", 19516),
                  a + "26.4.3.1.10.1": ("octets", "04/16/2019 14:43:21"), a + "26.4.3.1.16.1": ("int", 131), a + "26.4.3.1.17.1": ("int", 94),
                  a + "26.9.4.3.1.6.1": ("int", 9), a + "26.9.4.3.1.7.1": ("int", 163), a + "26.9.4.3.1.11.1": ("int", 3046),
                  a + "26.9.4.3.1.12.1": ("octets", "C13"), a + "26.9.4.3.1.7.8": ("int", 0), a + "26.9.4.3.1.11.8": ("int", 0)})
        c = self.channels(o)
        self.value(c, "pdu", "power", 1210)  # once: the old object's 1230 W is the same
        self.value(c, "pdu", "energy", 1951.6 * 3.6e6)
        self.value(c, "pdu/1", "power", 163)
        self.value(c, "pdu/1", "energy", 304.6 * 3.6e6)
        self.value(c, "pdu/8", "power", 0)
        o = system("1.3.6.1.4.1.318.1.3.4.8")
        o.update({a + "12.1.16.0": ("int", 192), **{a + "26.4.3.1.%d.1" % k: ("int", -1) for k in (5, 9, 16, 17)}})
        self.assertEqual({k: v["value"] for k, v in self.channels(o).items()}, {("pdu", "power"): 192})
        p = "1.3.6.1.4.1.13742.4.1.20.2.1."
        o = system("1.3.6.1.4.1.13742.4")
        o.update({p + "7.1": ("gauge", 2971), p + "8.1": ("gauge", 230000), p + "9.1": ("gauge", 580), p + "10.1": ("gauge", 692),
                  p + "11.1": ("gauge", 83), p + "12.1": ("gauge", 0), "1.3.6.1.4.1.13742.4.1.2.2.1.8.3": ("gauge", 507)})
        self.value(self.channels(o), "pdu", "power", 580)
        s = "1.3.6.1.4.1.1718.4.1."
        o = system("1.3.6.1.4.1.1718.4")
        o.update({s + "3.3.1.3.1.1": ("int", 1701), s + "3.3.1.5.1.1": ("int", 1790), s + "3.3.1.8.1.1": ("int", 95), s + "3.3.1.10.1.1": ("int", 8937)})
        for i, (v, amps, w) in enumerate(((2079, 209, 415), (2089, 222, 444), (2094, 429, 848)), 1):
            o.update({s + "5.3.1.3.1.1.%d" % i: ("int", v), s + "5.3.1.6.1.1.%d" % i: ("int", amps), s + "5.3.1.8.1.1.%d" % i: ("int", w)})
        c = self.channels(o, "phases: true")
        self.value(c, "pdu", "power", 1701)
        self.value(c, "pdu", "energy", 893.7 * 3.6e6)
        self.value(c, "pdu/L3", "power", 848)  # 209.4 V x 4.29 A = 898 VA
        s = "1.3.6.1.4.1.1718.3.2."
        o = system("1.3.6.1.4.1.1718.3")
        o.update({s + "2.1.12.1.1": ("int", 900), s + "2.1.16.1.1": ("int", 1234), s + "3.1.14.1.1.2": ("int", 77), s + "3.1.18.1.1.2": ("int", 5000)})
        c = self.channels(o)
        self.value(c, "pdu", "energy", 123.4 * 3.6e6)
        self.value(c, "pdu/2", "energy", 5000 * 3600)

    def test_eaton_total_among_phases(self):
        """inputWatts of three phases and, as the fourth, their total: never added to it."""
        e = "1.3.6.1.4.1.534.6.6.7.3.4.1.4.0.1."
        o = system("1.3.6.1.4.1.534.6.6.7")
        o.update({e + "%d" % i: ("int", w) for i, w in enumerate((100, 200, 300, 600), 1)})
        c = self.channels(o)
        self.assertEqual({k: v["value"] for k, v in c.items()}, {("pdu", "power"): 600})
        del o[e + "4"]
        self.value(self.channels(o), "pdu", "power", 600)

    def test_eman_energy(self):
        """RFC 7460: 1234 x 10^-1 Wh of object 7 since a start; energies of intervals are no counter."""
        t = "1.3.6.1.2.1.229.1."
        o = system("1.3.6.1.4.1.9.1.1")
        o.update({t + "2.1.1.7": ("int", 25), t + "2.1.3.7": ("int", 0), t + "2.1.5.7": ("int", 3),
                  t + "4.1.2.1": ("int", 7), t + "4.1.5.1": ("int", 3), t + "4.1.2.2": ("int", 8), t + "4.1.5.2": ("int", 1),
                  t + "5.1.2.1.4711": ("gauge", 1234), t + "5.1.5.1.4711": ("int", -1), t + "5.1.9.1.4711": ("ticks", 0),
                  t + "5.1.2.2.100": ("gauge", 5), t + "5.1.5.2.100": ("int", 0), t + "5.1.2.2.200": ("gauge", 6), t + "5.1.5.2.200": ("int", 0)})
        c = self.channels(o)
        self.value(c, "pdu/E7", "power", 25)
        self.value(c, "pdu/E7", "energy", 123.4 * 3600)
        self.assertEqual(len(c), 2)

    def test_eman_caliber(self):
        """RFC 7460: 250 x 10^-1 W measured; what is estimated or static is no measurement."""
        t = "1.3.6.1.2.1.229.1.2.1."
        o = system("1.3.6.1.4.1.9.1.1")
        for i, (caliber, provenance) in enumerate(((3, "measured"), (4, "estimated"), (5, "estimated"), (1, None)), 1):
            o.update({t + "1.%d" % i: ("int", 250), t + "3.%d" % i: ("int", -1), t + "5.%d" % i: ("int", caliber)})
        c = self.channels(o)
        for i, provenance in ((1, "measured"), (2, "estimated"), (3, "estimated")):
            self.assertEqual(self.value(c, "pdu/E%d" % i, "power", 25)["provenance"], provenance)
        self.assertNotIn(("pdu/E4", "power"), c)

    def test_ten_times_too_much(self):
        """centreon-plugins 5165, 3115: a power ten times volts x amperes is refused until its scale is said."""
        t = "1.3.6.1.4.1.3808.1.1.6.4.4.1."
        o = system("1.3.6.1.4.1.3808.1.1.6")
        o.update({t + "5.1": ("int", 30), t + "6.1": ("int", 2300), t + "7.1": ("int", 6500)})  # 3.0 A, 230.0 V, "6500 W"
        c = self.channels(o)
        self.value(c, "pdu/L1", "power", None, "conflict")
        self.assertIn("a factor of 9.42", self.facts["instrument.pdu.L1.scale"])
        self.value(self.channels(o, "power_scale: 0.1"), "pdu/L1", "power", 650)


class Chains(unittest.TestCase):
    def test_two_units_of_a_chain_and_feeds(self):
        t = "1.3.6.1.4.1.318.1.1.26."
        o = system("1.3.6.1.4.1.318.1.3.4.6")
        o.update({t + "4.3.1.5.1": ("int", 100), t + "4.3.1.5.2": ("int", 50), t + "9.4.3.1.7.1": ("int", 350),
                  t + "9.4.3.1.7.2": ("int", 360), t + "9.4.3.1.7.3": ("int", 1)})
        with Agent(o) as a:
            m = meters(a, "feeds:\n  - {part: 1, host: n1}\n  - {part: 2, host: n1}")
        c = {(x["device"], x["name"]): x for x in m["channels"]}
        self.assertEqual(c[("pdu", "power")]["value"], 1500)
        self.assertEqual(c[("pdu/1", "power")]["domain"]["inside"].split(" < ")[:2], ["psu", "inlet_ac"])
        self.assertNotIn(("pdu/3", "power"), c)  # nobody said what it feeds
        with Agent(o) as a:
            r = meters(a, "feeds:\n  - {part: 9, host: n1}")
        self.assertNotEqual(r["state"], "ok")
        self.assertIn('no metered part "9"', r["reason"])

    def test_a_hundred_outlets_in_few_messages(self):
        e = "1.3.6.1.4.1.534.6.6.7.6.5.1."
        o = system("1.3.6.1.4.1.534.6.6.7")
        for i in range(1, 101):
            o.update({e + "3.0.%d" % i: ("int", i), e + "4.0.%d" % i: ("int", 10 * i), e + "5.0.%d" % i: ("int", 1)})
        with Agent(o) as a:
            m = meters(a)
            before = a.requests
        self.assertEqual(len(m["channels"]), 200)
        self.assertEqual({c["status"] for c in m["channels"]}, {"ok"})
        with Agent(o, too_big=12) as a:
            m = meters(a)
        self.assertEqual({c["status"] for c in m["channels"]}, {"ok"})
        self.assertGreater(before, 0)


class Goes_wrong(unittest.TestCase):
    objects = {**system("1.3.6.1.4.1.318.1.3.4.6"), "1.3.6.1.4.1.318.1.1.12.1.16.0": ("int", 431)}

    def test_lost_datagrams(self):
        def attempt():  # of three datagrams within the limit two are lost
            with Agent(self.objects) as a:
                a.drop = 2
                m = meters(a, timeout="3s")
            self.assertEqual(m["state"], "ok", m["reason"])
            self.assertEqual(m["channels"][0]["value"], 431)
        patience.again(attempt)

    def test_wrong_community(self):
        with Agent(self.objects, community=b"other") as a:
            m = meters(a, "community_env: JM_T", env={"JM_T": "s3cr3t-word"}, timeout="2s")
        self.assertNotEqual(m["state"], "ok")
        self.assertIn("community", m["reason"])
        self.assertNotIn("s3cr3t-word", json.dumps(m))

    def test_nothing_known(self):
        with Agent(system("1.3.6.1.4.1.99999.1")) as a:
            m = meters(a)
        self.assertIn("no power or energy", m["reason"])

    def test_version_3(self):
        for h, name in (("sha1", "sha"), ("sha256", "sha256")):
            with self.subTest(name), Agent(self.objects, user="jm", password="authentic1", hash_name=h) as a:
                env = {"JM_T": "authentic1"}
                v3 = "version: 3\nuser: jm\nauth: %s\npassword_env: JM_T" % name
                self.assertEqual(meters(a, v3, env=env)["channels"][0]["value"], 431)
                m = meters(a, v3, env={"JM_T": "wrong-word"})
                self.assertEqual(m["state"], "denied", m)
                self.assertIn("password", m["reason"])
                self.assertNotIn("wrong-word", json.dumps(m))
                m = meters(a, v3.replace("jm", "nobody"), env=env)
                self.assertIn("user", m["reason"])
                m = meters(a, "version: 3\nuser: jm", env=env)
                self.assertIn("security level", m["reason"])

    def test_configuration(self):
        with Agent(self.objects) as a:
            for extra, word in (("version: 3", "user"), ("user: jm", "version"), ("vendor: acme", "acme"),
                                ("power_scale: 3", "power of ten"), ("interval: 10ms", "refresh")):
                r = meters(a, extra, code=None)
                self.assertEqual(r.returncode, 2, (extra, r.stderr))
                self.assertIn(word, r.stderr)


class Resets(unittest.TestCase):
    """A counter of 20 Wh a second (72 kW), and what is done to it between two readings of a run."""
    def record(self, change):
        t = "1.3.6.1.4.1.534.6.6.7.3.5.1."
        start, self.more = time.monotonic(), 0
        o = system("1.3.6.1.4.1.534.6.6.7", uptime=500000)
        o.update({t + "4.0.1": ("int", 72000), t + "5.0.1": ("int", lambda: 1000 + self.more + int(20 * (time.monotonic() - start))),
                  t + "6.0.1": ("int", 1700000000)})
        with Agent(o) as a, tempfile.TemporaryDirectory() as d:
            with open(d + "/c.yaml", "w") as f:
                f.write("meters:\n  - {name: pdu, meter: snmp, address: \"%s\", interval: 200ms, at: inlet ac}\n" % a.address)
            p = subprocess.Popen([JOULEMARK, "run", "-q", "--no-summary", "--config", d + "/c.yaml", "-m", "pdu", "-o", d + "/r.jmr",
                                  "--", "sh", "-c", "echo > %s/on; until [ -e %s/off ]; do sleep .05; done" % (d, d)], stdin=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE, text=True)

            def readings(n):  # so many more, however slow this machine is
                want = a.requests + n
                patience.until(lambda: a.requests >= want or p.poll() is not None)
            patience.until(lambda: os.path.exists(d + "/on") or p.poll() is not None)
            readings(3)
            change(a, t)
            readings(3)
            open(d + "/off", "w", encoding="ascii").close()
            err = p.communicate(timeout=120)[1]
            self.assertEqual(p.returncode, 0, err)
            r = subprocess.run([JOULEMARK, "show", "--json", d + "/r.jmr"], capture_output=True, text=True, timeout=120)
            return next(e for e in json.loads(r.stdout)["energy"] if e["channel"] == "energy")

    def tells(self, change, *states):
        """A step of 1 Wh that falls between two readings of a moment, one of them late, is more than any rack draws: then again."""
        patience.again(lambda: self.assertIn(self.record(change)["status"], states))

    def test_reset_by_a_user(self):
        def change(a, t):  # it is soon past its old value: only the time of the reset tells
            a.set(t + "6.0.1", ("int", 1700009999))
        self.tells(change, "reset")

    def test_reboot(self):
        self.tells(lambda a, t: a.set(SYSTEM + "3.0", ("ticks", 12)), "reset")

    def test_nothing_happens(self):
        self.tells(lambda a, t: None, "ok", "below-resolution")


if __name__ == "__main__":
    tap.main()

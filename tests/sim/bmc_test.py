#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""joulemark-sim bmc and pdu: Redfish resources about a load whose power is known."""
import base64
import datetime
import json
import os
import signal
import subprocess
import tempfile
import time
import unittest
import urllib.error
import urllib.request

import tap
from simengine import SIM


class Server:
    def __init__(self, *args):
        self.p = subprocess.Popen([SIM, *args], stdout=subprocess.PIPE, text=True)
        self.root = self.p.stdout.readline().strip()
        self.base = self.root.removesuffix("/redfish/v1")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.p.send_signal(signal.SIGTERM)
        self.status = self.p.wait(60)
        self.p.stdout.close()

    def get(self, path, **headers):
        r = urllib.request.Request(self.base + path, headers={k: v for k, v in headers.items()})
        with urllib.request.urlopen(r, timeout=60) as f:
            return json.load(f)


def walk(server, path, seen):
    """every resource that can be reached by links"""
    if path in seen or "#" in path:
        return
    seen[path] = server.get(path)

    def links(v):
        if isinstance(v, dict):
            for k, x in v.items():
                if k == "@odata.id" or k == "DataSourceUri":
                    yield x
                else:
                    yield from links(x)
        elif isinstance(v, list):
            for x in v:
                yield from links(x)

    for link in list(links(seen[path])):
        walk(server, link, seen)


class Bmc(unittest.TestCase):
    def test_every_link_leads_somewhere(self):
        for kind, few in ("bmc", 11), ("pdu", 14):
            with Server(kind) as s:
                seen = {}
                walk(s, "/redfish/v1", seen)
                self.assertGreaterEqual(len(seen), few)
                for path, body in seen.items():
                    self.assertEqual(body["@odata.id"], path)
                    self.assertTrue(body["@odata.type"].startswith("#"))
                    self.assertTrue(body["Id"] and body["Name"])
            self.assertEqual(s.status, 0)

    def test_values_by_hand(self):
        """480 W out at 96 %: 500 W in"""
        with Server("bmc", "--waveform", "const:480W", "--efficiency", "0.96") as s:
            e = s.get("/redfish/v1/Chassis/1/EnvironmentMetrics")
            self.assertEqual(e["PowerWatts"]["Reading"], 500)
            m = s.get("/redfish/v1/Chassis/1/PowerSubsystem/PowerSupplies/0/Metrics")
            self.assertEqual((m["InputPowerWatts"]["Reading"], m["OutputPowerWatts"]["Reading"]), (500, 480))
            p = s.get("/redfish/v1/Chassis/1/Power")
            self.assertEqual(p["PowerControl"][0]["PowerConsumedWatts"], 500)
            t = s.get("/redfish/v1/Chassis/1/Sensors/TotalPower")
            self.assertEqual((t["ReadingUnits"], t["AveragingInterval"]), ("W", "PT5S"))

    def test_energy_moves_by_refreshes(self):
        """refreshed each 50 ms: what passed between two values is a whole number of 50 ms x 1000 W = 50 J"""
        with Server("bmc", "--waveform", "const:1000W", "--efficiency", "1", "--period", "50ms", "--lag", "0s") as s:
            path = "/redfish/v1/Chassis/1/Sensors/TotalEnergy"
            a = s.get(path)["Reading"]
            time.sleep(0.3)
            b = s.get(path)["Reading"]
            self.assertGreaterEqual(b - a, 250)
            self.assertEqual((b - a) % 50, 0)

    def test_own_clock(self):
        with Server("bmc", "--offset", "-100000000") as s:
            before = datetime.datetime.now(datetime.timezone.utc)
            at = datetime.datetime.fromisoformat(s.get("/redfish/v1/Managers/bmc")["DateTime"].replace("Z", "+00:00"))
            self.assertLess(abs((at - before).total_seconds() + 100000000), 120)

    def test_outlets_share(self):
        """eight outlets of 400 W: 50 W each; the mains have all of it"""
        with Server("pdu", "--outlets", "8", "--quantum", "5") as s:
            self.assertEqual(s.get("/redfish/v1/PowerEquipment/RackPDUs/1/Outlets/A3")["PowerWatts"]["Reading"], 50)
            self.assertEqual(s.get("/redfish/v1/PowerEquipment/RackPDUs/1/Mains/AC1")["PowerWatts"]["Reading"], 400)
            self.assertEqual(s.get("/redfish/v1/PowerEquipment/RackPDUs/1/Metrics")["PowerWatts"]["Reading"], 400)

    def refused(self, status, s, path, **headers):
        with self.assertRaises(urllib.error.HTTPError) as e:
            s.get(path, **headers)
        self.assertEqual(e.exception.code, status)
        self.assertIn("error", json.load(e.exception))
        e.exception.close()

    def test_password(self):
        good = "Basic " + base64.b64encode(b"reader:secret").decode()
        with Server("bmc", "--user", "reader", "--password", "secret") as s:
            s.get("/redfish/v1")  # this one needs none
            self.refused(401, s, "/redfish/v1/Chassis")
            self.refused(401, s, "/redfish/v1/Chassis", Authorization="Basic " + base64.b64encode(b"reader:wrong").decode())
            self.assertEqual(s.get("/redfish/v1/Chassis", Authorization=good)["Members@odata.count"], 1)
            with self.assertRaises(urllib.error.HTTPError) as e:  # no sessions: 405 says so to who has no password there yet
                urllib.request.urlopen(urllib.request.Request(s.base + "/redfish/v1/SessionService/Sessions", data=b"{}"), timeout=10)
            self.assertEqual(e.exception.code, 405)
            e.exception.close()
            with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
                f.write(f"meters:\n  - {{name: bmc, meter: redfish, url: '{s.base}', user: reader, password_env: BMC_PASSWORD}}\n")
                f.flush()
                r = subprocess.run([os.environ["JOULEMARK"], "meters", "-m", "bmc", "--config", f.name, "--no-measure", "--json"], text=True,
                                   env={**os.environ, "BMC_PASSWORD": "secret"}, capture_output=True, timeout=60, check=True)
            self.assertEqual(json.loads(r.stdout)["readable"], 1)

    def test_what_is_not_there(self):
        with Server("bmc") as s:
            self.refused(404, s, "/redfish/v1/Chassis/2")
            self.refused(404, s, "/redfish/v1/PowerEquipment")
            s.get("/redfish/v1/Chassis/1/")  # a slash at the end is fine
        with Server("pdu") as s:
            for path in "A0", "A9", "A1x", "B1":
                self.refused(404, s, "/redfish/v1/PowerEquipment/RackPDUs/1/Outlets/" + path)

    def test_usage(self):
        for args, word in ((["--lag", "fast"], "fast"), (["--what", "1"], "--what"), (["--port"], "value"), (["--waveform", "blah"], "blah")):
            r = subprocess.run([SIM, "bmc", *args], capture_output=True, text=True, timeout=60)
            self.assertEqual(r.returncode, 2, r.stderr)
            self.assertIn(word, r.stderr)
        for kind in "bmc", "pdu":
            r = subprocess.run([SIM, kind, "--help"], capture_output=True, text=True, timeout=60)
            self.assertEqual(r.returncode, 0)
            self.assertIn("--waveform", r.stdout)


if __name__ == "__main__":
    tap.main()

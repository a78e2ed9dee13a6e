#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The meter redfish against a service over TLS: captured trees of real BMCs where the corpus is there, and faults."""
import json
import os
import subprocess
import tempfile
import threading
import time
import unittest

import patience
import tap
from redfish_server import Server, captured

JOULEMARK = os.environ["JOULEMARK"]
SECRET = "pw-very-secret"


def small(power=250):
    """A BMC with a consumption that agrees with the input of its two supplies (125 + 124 W)."""
    state = {"W": power}

    def body():
        return {"@odata.id": "/redfish/v1/Chassis/1/Power", "PowerControl": [{"PowerConsumedWatts": state["W"]}],
                "PowerSupplies": [{"Name": "PSU1", "PowerSupplyType": "AC", "PowerInputWatts": 125, "PowerOutputWatts": 112},
                                  {"Name": "PSU2", "PowerSupplyType": "AC", "PowerInputWatts": 124, "PowerOutputWatts": 111}]}
    t = {"/redfish/v1": {"Chassis": {"@odata.id": "/redfish/v1/Chassis"}},
         "/redfish/v1/Chassis": {"Members": [{"@odata.id": "/redfish/v1/Chassis/1"}]},
         "/redfish/v1/Chassis/1": {"Id": "1", "Power": {"@odata.id": "/redfish/v1/Chassis/1/Power"}},
         "/redfish/v1/Chassis/1/Power": body}
    return t, state


class Base(unittest.TestCase):
    def run_it(self, *args, env=None, timeout=240):
        return subprocess.run([JOULEMARK, *args], capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL,
                              env={**os.environ, "RF_PW": SECRET, **(env or {})})

    def config(self, s, *more, user="u", tls=None):
        lines = ["meters:", "  - name: bmc", "    meter: redfish", f"    url: {s.url}"]
        if user:
            lines += [f"    user: {user}", "    password_env: RF_PW"]
        if s.url.startswith("https"):
            lines += ["    tls: {" + (tls or f"pin: {s.pin}") + "}"]
        path = os.path.join(s.dir.name, "joulemark.yaml")
        with open(path, "w") as f:
            f.write("\n".join(lines + ["    " + m for m in more]) + "\n")
        return path

    def meters(self, s, *more, **kw):
        r = self.run_it("meters", "--json", "--no-measure", "-m", "bmc", "--config", self.config(s, *more, **kw))
        self.assertNotIn(SECRET, r.stdout + r.stderr)
        self.assertNotIn("token-", r.stdout + r.stderr)
        return r, json.loads(r.stdout) if r.stdout else None


class Talk(Base):
    def test_session(self):
        t, _ = small()
        with Server(t, user="u", password=SECRET) as s:
            r, doc = self.meters(s)
            self.assertEqual(r.returncode, 0, r.stderr)
            text = json.dumps(doc)
            self.assertIn("power agrees with the input of the supplies", text)
            self.assertEqual(s.log[-1][0], "DELETE")  # the table of sessions is small
            self.assertFalse(s.tokens)

    def test_old_place_and_body(self):
        """iDRAC 8: 405 at SessionService/Sessions; another gives no Location."""
        t, _ = small()
        with Server(t, user="u", password=SECRET, sessions_at=("/redfish/v1/Sessions",), location=False) as s:
            r, doc = self.meters(s, tls=f"ca: {s.ca}")
            self.assertIn("power agrees with the input", json.dumps(doc))
            self.assertIn(("POST", "/redfish/v1/Sessions"), s.log)
            self.assertEqual(s.log[-1], ("DELETE", "/redfish/v1/Sessions/1"))

    def test_no_sessions_is_basic(self):
        t, _ = small()
        with Server(t, user="u", password=SECRET, basic=True, sessions_at=()) as s:
            _, doc = self.meters(s)
            self.assertIn("power agrees with the input", json.dumps(doc))

    def test_refused(self):
        t, _ = small()
        with Server(t, user="u", password="another") as s:
            r, doc = self.meters(s)
            self.assertIn("does not accept user and password", json.dumps(doc) + r.stderr)
            self.assertEqual(sum(1 for m, _ in s.log if m == "POST"), 1)  # a locked account helps nobody

    def test_certificate(self):
        t, _ = small()
        with Server(t, user="u", password=SECRET) as s:
            for tls, said in ((f"pin: {'0' * 64}", "not the pinned one"), ("insecure: false", "certificate not accepted")):
                r, doc = self.meters(s, tls=tls)
                self.assertIn(said, json.dumps(doc) + r.stderr)
            self.assertFalse([m for m, _ in s.log if m == "POST"])  # no password was sent
            _, doc = self.meters(s, tls="insecure: true")
            text = json.dumps(doc)
            self.assertIn("power agrees with the input", text)
            self.assertIn("not verified", text)

    def test_bad_answers(self):
        """Endless, huge, hanging, half a page, another host: one sentence each, in time; the rest is read."""
        for fault, said in (("endless", "more than the limit"), ("huge", "more than the limit"), ("hang", "did not answer"),
                            ((200, b"<html>login</html>"), "web page"), ((200, b'{"PowerControl":[{'), "cut off"),
                            ((302, b"", [("Location", "https://evil.example/x")]), "another host"), ((503, b""), "busy")):
            t, _ = small()
            t["/redfish/v1/Chassis"] = {"Members": [{"@odata.id": "/redfish/v1/Chassis/1"}, {"@odata.id": "/redfish/v1/Chassis/2"}]}
            with Server(t, user="u", password=SECRET) as s:
                s.fault["/redfish/v1/Chassis/2"] = fault
                # the one that hangs does so for as long as the test lasts
                r, doc = self.meters(s, "timeout: 2s" if fault == "hang" else "timeout: 60s")
                text = json.dumps(doc) + r.stderr
                with self.subTest(fault=str(fault)[:40]):
                    self.assertIn(said, text)
                    self.assertIn("power agrees with the input", text)


class Record(Base):
    def test_relogin_and_gap(self):
        """The service forgets its sessions in the middle: readings go on with a new one. A constant 250 W over the run."""
        t, _ = small()
        with Server(t, user="u", password=SECRET) as s:
            out = os.path.join(s.dir.name, "r.jmr")
            on, off = s.dir.name + "/on", s.dir.name + "/off"

            def forget():
                patience.until(lambda: os.path.exists(on))
                time.sleep(1.1)  # a session younger than a second is not made again
                for then in (s.forget, lambda: open(off, "w", encoding="ascii").close()):
                    want = len(s.log) + 4  # so many more, however slow this machine is
                    patience.until(lambda: len(s.log) >= want)
                    then()
            threading.Thread(target=forget, daemon=True).start()
            r = self.run_it("run", "-q", "--no-summary", "-o", out, "-m", "bmc", "--config", self.config(s, "interval: 250ms", "timeout: 60s"), "--",
                            "sh", "-c", f"echo > {on}; until [ -e {off} ]; do sleep .05; done")
            self.assertEqual(r.returncode, 0, r.stderr)
            self.assertGreaterEqual(s.made, 2)
            r = self.run_it("show", "--json", out)
            rows = [x for x in json.loads(r.stdout)["results"] if x["metric"] == "power.mean" and x["value"] is not None]
            wall = [x["value"] for x in rows if x.get("boundary") == "wall"]
            self.assertTrue(wall, rows)
            self.assertLess(abs(wall[0] - 250), 2, rows)
            with open(out, "rb") as f:
                raw = f.read()
            self.assertNotIn(SECRET.encode(), raw)
            self.assertNotIn(b"token-", raw)

    def test_short_window(self):
        """A pause between readings longer than the window: its edges are read all the same. 250 W, and a counter of them."""
        t, _ = small()
        t["/redfish/v1/Chassis/1"]["EnvironmentMetrics"] = {"@odata.id": "/redfish/v1/Chassis/1/EnvironmentMetrics"}
        t["/redfish/v1/Chassis/1/EnvironmentMetrics"] = lambda: {"PowerWatts": {"Reading": 250}, "EnergyJoules": {"Reading": 250 * time.monotonic()}}
        with Server(t, tls=False) as s:
            out = os.path.join(s.dir.name, "r.jmr")
            r = self.run_it("run", "-q", "--no-summary", "-o", out, "-m", "bmc", "--config", self.config(s, "interval: 1min", "timeout: 30s", user=None), "--",
                            "sleep", "2")
            self.assertEqual(r.returncode, 0, r.stderr)
            doc = json.loads(self.run_it("show", "--json", out).stdout)
            self.assertNotIn("energy.uncovered", [f["id"] for f in doc["validity"]["findings"]], doc["validity"])
            row = [x for x in doc["results"] if x["metric"] == "power.mean" and x["value"] is not None]
            # what a reading says was true at some moment between its question and its answer: the interval knows both
            self.assertTrue(row and abs(row[0]["value"] - 250) < max(5, row[0]["interval"]["hi"] - row[0]["interval"]["lo"]), doc["results"])


CHASSIS = "/redfish/v1/Chassis/"


def sensor(t, chassis, member, name, value, kind="Power", unit="W"):
    uri = f"{CHASSIS}{chassis}/Sensors/{member}"
    t[uri] = {"@odata.id": uri, "Id": name, "Name": name.replace("_", " "), "Reading": value, "ReadingType": kind, "ReadingUnits": unit,
              "ReadingRangeMax": None, "ReadingRangeMin": None, "Status": {"State": "Enabled"}}
    return uri


def grown(t):
    """The collections on the way to what is there."""
    t.setdefault("/redfish/v1", {k: {"@odata.id": "/redfish/v1/" + k} for k in ("Chassis", "Systems")})
    for uri in list(t):
        while uri.count("/") > 2:
            uri = uri.rsplit("/", 1)[0]
            if uri not in t:
                t[uri] = {"Members": [{"@odata.id": k} for k in sorted(
                    {"/".join(x.split("/")[:uri.count("/") + 2]) for x in t if x.startswith(uri + "/")})]}
    return t


class Racks(Base):
    """What stands in racks of GB200 and GB300: shelves of supplies, trays on a bus bar, GPUs that only their type tells."""

    def channels(self, t, *more, state="ok"):
        with Server(grown(t), tls=False) as s:
            _, doc = self.meters(s, "login: none", *more, user=None)
        m = next(x for x in doc["meters"] if x.get("configured"))
        self.assertEqual(m["state"], state, m)
        self.reason = m["reason"]
        return {(c["device"], c["name"]): c for c in m["channels"]}

    def test_shelf_with_a_hot_swap_controller(self):
        """Its 3 W of electronics are not the shelf; each supply is read though its sensor stands in two places; ps5 is a supply too."""
        t = {CHASSIS + "PowerShelf_0": {"Id": "PowerShelf_0", "Sensors": {"@odata.id": CHASSIS + "PowerShelf_0/Sensors"},
                                        "PowerSubsystem": {"@odata.id": CHASSIS + "PowerShelf_0/PowerSubsystem"}},
             CHASSIS + "PowerShelf_0/PowerSubsystem": {"PowerSupplies": {"@odata.id": CHASSIS + "PowerShelf_0/PowerSubsystem/PowerSupplies"}}}
        sensor(t, "PowerShelf_0", "hotswap_input_power", "hotswap_input_power", 3)
        for i in (1, 5):
            at = f"{CHASSIS}PowerShelf_0/PowerSubsystem/PowerSupplies/{i}"
            w_in = sensor(t, "PowerShelf_0", f"ps{i}_input_power", f"ps{i}_input_power", 300 + i)
            w_out = sensor(t, "PowerShelf_0", f"ps{i}_output_power", f"ps{i}_output_power", 290 + i)
            j = sensor(t, "PowerShelf_0", f"ps{i}_energy_in", f"ps{i}_energy_in", 112000, "EnergyJoules", "J")
            t[at] = {"Id": str(i), "Metrics": {"@odata.id": at + "/Metrics"}}
            t[at + "/Metrics"] = {"InputPowerWatts": {"DataSourceUri": w_in, "Reading": 300 + i}, "OutputPowerWatts": {"DataSourceUri": w_out, "Reading": 290 + i},
                                  "EnergykWh": {"DataSourceUri": j, "Reading": 112000 / 3.6e6, "LifetimeReading": 177.2}}
        c = self.channels(t)
        for i in (1, 5):
            got = c[(f"bmc/{i}", "power.input")]
            self.assertEqual((got["value"], got["domain"]["kind"], got["scope"]), (300 + i, "psu", "ac-input"))
            self.assertEqual(c[(f"bmc/{i}", "power.output")]["scope"], "dc-output")
            self.assertEqual(c[(f"bmc/{i}", "energy")]["value"], 112000)
        self.assertNotIn(("bmc", "power"), c)

    def test_shelf_with_totals(self):
        t = {CHASSIS + "powershelf": {"Id": "powershelf", "Sensors": {"@odata.id": CHASSIS + "powershelf/Sensors"}}}
        for name, w in (("chassis_input_power", 4252), ("chassis_output_power", 4011), ("p0_pin", 759), ("p0_pout", 711), ("p1_pin", 758)):
            sensor(t, "powershelf", "power_" + name, name, w)
        c = self.channels(t)
        self.assertEqual((c[("bmc", "power")]["value"], c[("bmc", "power")]["domain"]["kind"]), (4252, "rack"))
        self.assertEqual((c[("bmc", "power.output")]["value"], c[("bmc", "power.output")]["scope"]), (4011, "dc-output"))
        self.assertEqual(c[("bmc/power_p0_pin", "power.input")]["domain"]["kind"], "psu")  # inside of the shelf's own: shown, never added
        self.assertEqual(c[("bmc/power_p0_pout", "power.output")]["scope"], "dc-output")

    def test_outlets_by_their_own_names(self):
        """An outlet whose figures are copies of sensors keeps its name, for power and energy, and leads where the feed says."""
        pdu = "/redfish/v1/PowerEquipment/RackPDUs/1/Outlets/"
        t = {"/redfish/v1": {k: {"@odata.id": "/redfish/v1/" + k} for k in ("Chassis", "PowerEquipment")},
             "/redfish/v1/PowerEquipment": {"RackPDUs": {"@odata.id": "/redfish/v1/PowerEquipment/RackPDUs"}},
             "/redfish/v1/PowerEquipment/RackPDUs/1": {"Outlets": {"@odata.id": pdu[:-1]}},
             CHASSIS + "PDU": {"Sensors": {"@odata.id": CHASSIS + "PDU/Sensors"}}}
        for i in (1, 2, 3):
            w = sensor(t, "PDU", f"PowerA{i}", f"PowerA{i}", 200 + i)
            j = sensor(t, "PDU", f"EnergyA{i}", f"EnergyA{i}", 36.5, "EnergykWh", "kW.h")
            t[f"{pdu}A{i}"] = {"Id": f"A{i}", "PowerWatts": {"DataSourceUri": w, "Reading": 200 + i}, "EnergykWh": {"DataSourceUri": j, "Reading": 36.5}}
        c = self.channels(t)
        self.assertEqual(c[("bmc/A2", "power")]["domain"]["kind"], "rack")
        self.assertEqual(c[("bmc/A2", "energy")]["value"], 36.5 * 3.6e6)
        c = self.channels(t, "feeds: [{part: A2, host: n2}]")
        self.assertEqual((c[("bmc/A2", "power")]["value"], c[("bmc/A2", "power")]["domain"]["kind"]), (202, "psu"))
        self.assertNotIn(("bmc/A1", "power"), c)
        self.channels(t, "feeds: [{part: PowerA2, host: n2}]", state="absent")
        self.assertIn('there is no part "PowerA2" here; it calls its parts A1, A2, A3', self.reason)

    def test_tray_on_a_bus_bar(self):
        """The sum of a tray's hot-swap controllers is its direct-current inlet; that of a board inside is the board's."""
        t = {CHASSIS + x: {"Id": x, "Sensors": {"@odata.id": f"{CHASSIS}{x}/Sensors"}} for x in ("Chassis_0", "HGX_Chassis_0")}
        uri = sensor(t, "Chassis_0", "Chassis_0_TotalHSC_Power_0", "Chassis_0_TotalHSC_Power_0", 1171.25)
        t[CHASSIS + "Chassis_0"]["EnvironmentMetrics"] = {"@odata.id": CHASSIS + "Chassis_0/EnvironmentMetrics"}
        t[CHASSIS + "Chassis_0/EnvironmentMetrics"] = {"PowerWatts": {"DataSourceUri": uri, "Reading": 1171.25}}
        sensor(t, "HGX_Chassis_0", "HGX_Chassis_0_TotalHSC_Power_0", "HGX_Chassis_0_TotalHSC_Power_0", 900)
        c = self.channels(t)
        self.assertEqual((c[("bmc", "power")]["value"], c[("bmc", "power")]["domain"]["kind"]), (1171.25, "inlet_dc"))
        self.assertEqual(c[("bmc/HGX_Chassis_0_TotalHSC", "power")]["scope"], "board")

    def test_processors_by_type(self):
        """XCC numbers its GPUs among the processors, iDRAC calls them Video.Slot.7-1; a number alone would be a supply's as well."""
        t = {CHASSIS + "1": {"Power": {"@odata.id": CHASSIS + "1/Power"}}, CHASSIS + "1/Power": {"PowerControl": [{"PowerConsumedWatts": 800}]},
             "/redfish/v1/Systems/1": {"Processors": {"@odata.id": "/redfish/v1/Systems/1/Processors"}}}
        for name, kind in (("1", "CPU"), ("5", "GPU"), ("Video.Slot.7-1", "GPU")):
            at = "/redfish/v1/Systems/1/Processors/" + name
            t[at] = {"Id": name, "ProcessorType": kind, "EnvironmentMetrics": {"@odata.id": at + "/EnvironmentMetrics"}}
            t[at + "/EnvironmentMetrics"] = {"PowerWatts": {"Reading": 100}}
        c = self.channels(t)
        self.assertEqual(c[("bmc/gpu5", "power")]["scope"], "board")
        self.assertEqual(c[("bmc/Video.Slot.7-1", "power")]["scope"], "board")
        self.assertEqual(c[("bmc/cpu1", "power")]["scope"], "component")

    def test_first_figure_of_a_resource_is_missing(self):
        """What stands after a consumption that is null or 0 is read all the same (iRMC, AMI)."""
        for body, want in (({"PowerControl": [{"PowerConsumedWatts": None}], "Oem": {"ts_fujitsu": {"ChassisPowerConsumption": {
                             "CurrentPowerConsumptionW": 150}}}}, 150),
                           ({"PowerControl": [{"PowerConsumedWatts": 0, "PowerMetrics": {"CurConsumedWatts": 412}}]}, 412)):
            c = self.channels({CHASSIS + "0": {"Power": {"@odata.id": CHASSIS + "0/Power"}}, CHASSIS + "0/Power": body})
            self.assertEqual((c[("bmc", "power")]["value"], c[("bmc", "power")]["status"]), (want, "ok"))

    def test_names_that_promise_the_whole(self):
        """A processor's PIN and a lone chassis name are parts when the chassis tells more."""
        t = {CHASSIS + "Baseboard": {"Sensors": {"@odata.id": CHASSIS + "Baseboard/Sensors"}}}
        for name, w in (("P0_VDD_CORE_PIN", 80), ("P0_PIN", 95), ("Chassis_Fan_Input_Power", 30), ("PSU1_Input_Power", 410),
                        ("PSU2_Input_Power", 400), ("Total_Power", 811)):
            sensor(t, "Baseboard", name, name, w)
        c = self.channels(t)
        self.assertEqual((c[("bmc", "power")]["value"], c[("bmc", "power")]["domain"]["kind"]), (811, "inlet_ac"))
        self.assertEqual(len([k for k in c if k[1] == "power" and k[0].startswith("bmc/")]), 0, c)

    def test_busy_once(self):
        """503 for one resource while others answer: it is asked once more, not left out of the run."""
        class Once(dict):
            def get(self, key, default=None):
                return self.pop(key, default)
        t, _ = small()
        with Server(t, tls=False) as s:
            s.fault = Once({CHASSIS + "1/Power": (503, b"")})
            _, doc = self.meters(s, "login: none", user=None)
        self.assertIn("power agrees with the input", json.dumps(doc))

    def test_feeds_of_no_part(self):
        """Outlets that the PDU calls otherwise are told; of two, one that is not there is a place without a meter."""
        pdu = subprocess.Popen([JOULEMARK, "sim", "pdu", "--outlets", "2"], stdout=subprocess.PIPE, text=True)
        self.addCleanup(pdu.communicate)
        self.addCleanup(pdu.terminate)
        url = pdu.stdout.readline().strip().removesuffix("/redfish/v1")
        with tempfile.TemporaryDirectory() as d:
            for parts, state in (("1", "2"), "absent"), (("A1", "A9"), "ok"):
                with open(d + "/c.yaml", "w") as f:
                    f.write("meters:\n  - name: pdu\n    meter: redfish\n    url: %s\n    tls: {insecure: true}\n    feeds:\n%s" % (
                        url, "".join("      - {part: %s, host: local}\n" % p for p in parts)))
                r = subprocess.run([JOULEMARK, "meters", "--json", "--no-measure", "-m", "pdu", "--config", d + "/c.yaml"], capture_output=True,
                                   text=True, timeout=60, stdin=subprocess.DEVNULL)
                (m,) = [m for m in json.loads(r.stdout)["meters"] if (m.get("configured") or {}).get("name") == "pdu"]
                self.assertEqual(m["state"], state, m)
                if state == "absent":
                    self.assertIn('no part "1" here; it calls its parts A1, A2', m["reason"])

    def test_text(self):
        """Each part of a node has its own name in the text, whole, and what is simulated says so beside its address."""
        t, _ = small()
        ids = ("HGX_Chassis_0_TotalGPU_Power_0", "PWR_CPU0", "PWR_CPU1")
        t["/redfish/v1"].update(Vendor="JOULEMARK", Product="BMC (SIMULATED)")
        t[CHASSIS + "1"] = {"Id": "1", "Power": {"@odata.id": CHASSIS + "1/Power"}, "Sensors": {"@odata.id": CHASSIS + "1/Sensors"}}
        t[CHASSIS + "1/Sensors"] = {"Members": [{"@odata.id": f"{CHASSIS}1/Sensors/{i}"} for i in ids]}
        for k, i in enumerate(ids):
            t[f"{CHASSIS}1/Sensors/{i}"] = {"Id": i, "Name": i, "ReadingType": "Power", "ReadingUnits": "W", "Reading": 80 + k}
        with Server(t, tls=False) as s:
            r = self.run_it("meters", "--no-measure", "-m", "bmc", "--config", self.config(s, "login: none", "parts: all", user=None))
        self.assertIn("\n  SIMULATED: redfish at http://", r.stdout)
        self.assertLessEqual(max(map(len, r.stdout.splitlines())), 80)
        for name in "HGX_Chassis_0_TotalGPU", "PWR_CPU0", "PWR_CPU1", "bmc power ":
            self.assertEqual(r.stdout.count("    " + name), 1, r.stdout)

    def test_slow_but_alive(self):
        """Forty resources at a third of a second each take longer than three timeouts; the figure that counts comes first."""
        t, _ = small()
        for i in range(40):
            t[f"{CHASSIS}x{i}"] = {"Id": f"x{i}"}
            t["/redfish/v1/Chassis"]["Members"].append({"@odata.id": f"{CHASSIS}x{i}"})
        with Server(t, tls=False) as s:
            s.fault.update({uri: "slow" for uri in t})
            _, doc = self.meters(s, "login: none", "timeout: 600ms", user=None)
        self.assertIn("power agrees with the input", json.dumps(doc))
        self.assertLess([u for _, u in s.log].index(CHASSIS + "1/Power"), 5)


class Captured(Base):
    def tree_of(self, where, prefix=""):
        corpus = tap.corpus()
        if not corpus:
            self.skipTest("no corpus")
        return captured(corpus, where, prefix)

    def test_bmcs(self):
        """What the table of the captures says: the input of the supplies, or a side that is not stated; system power."""
        for where, watts, side in (("bmc/dell", "614", "agrees with the input"), ("bmc/lenovo", "708", "agrees with the input"),
                                   ("bmc/hpe", "531", "not stated"), ("bmc/nvidia_viking", "1950", "steps of 78 W")):
            with self.subTest(bmc=where), Server(self.tree_of(where), user="u", password=SECRET) as s:
                r = self.run_it("meters", "--json", "--measure", "100ms", "-m", "bmc", "--config", self.config(s, "parts: node"))
                self.assertIn(side, r.stdout)
                self.assertIn(watts, r.stdout)


if __name__ == "__main__":
    tap.main()

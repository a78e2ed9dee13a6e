#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Instruments that misbehave, all in one configuration beside a good one: answers that end never, come drop by drop, are no
protocol at all, or stand behind certificates that nobody should accept. Each is told in one sentence, and the good one is read."""
import contextlib
import json
import os
import shutil
import socket
import struct
import subprocess
import tempfile
import threading
import time
import unittest

import tap
from redfish_server import Server
from snmp_agent import Agent

JOULEMARK = os.environ["JOULEMARK"]
SECRET = "s3cr3t-word"
SILENT = ("", "did not answer", "does not answer")
TREE = {"/redfish/v1": {"Chassis": {"@odata.id": "/redfish/v1/Chassis"}}, "/redfish/v1/Chassis": {"Members": [{"@odata.id": "/redfish/v1/Chassis/1"}]},
        "/redfish/v1/Chassis/1": {"Power": {"@odata.id": "/redfish/v1/Chassis/1/Power"}},
        "/redfish/v1/Chassis/1/Power": {"PowerControl": [{"PowerConsumedWatts": 250}]}}


class Raw:
    """A TCP server: serve(connection) in a thread each."""
    def __init__(self, serve):
        self.sock, self.stop = socket.create_server(("127.0.0.1", 0)), threading.Event()
        self.port = self.sock.getsockname()[1]
        self.serve = serve
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                c, _ = self.sock.accept()
                threading.Thread(target=self.one, args=(c,), daemon=True).start()

    def one(self, c):
        with contextlib.suppress(OSError), c:
            self.serve(self, c)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.stop.set()
        self.sock.close()


def drops(text):
    """The text, then a byte each 50 ms for ever."""
    def serve(s, c):
        c.recv(4096)
        c.sendall(text)
        while not s.stop.wait(.05):
            c.sendall(b"x")
    return serve


def flood(piece):
    def serve(s, c):
        c.recv(4096)
        while not s.stop.is_set():
            c.sendall(piece)
    return serve


def rpc(*answers):
    """A VXI-11 server that answers calls in turn with words behind the header of an accepted reply, or with raw bytes."""
    def serve(s, c):
        for a in answers:
            call = c.recv(4096)
            if len(call) < 8:
                return
            body = a if isinstance(a, bytes) else struct.pack(">6I", struct.unpack(">I", call[4:8])[0], 1, 0, 0, 0, 0) + struct.pack(">%dI" % len(a), *a)
            c.sendall(body if isinstance(a, bytes) else struct.pack(">I", 0x80000000 | len(body)) + body)
        s.stop.wait(30)
    return serve


LINK = (0, 7, 0, 1024)
HTTP = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


class Zoo(unittest.TestCase):
    def test_all(self):
        if not shutil.which("openssl"):
            self.skipTest("no openssl")
        with contextlib.ExitStack() as stack:
            entries, expect = [], {}

            def meter(name, want, text):
                # those that never answer in order are given a second, the others as long as they need on a busy machine
                entries.append("  - {name: %s, timeout: %s, %s}\n" % (name, "1s" if want in SILENT or name == "snmp-community" else "60s", text))
                expect[name] = want

            def raw(serve):
                return stack.enter_context(Raw(serve)).port

            good = stack.enter_context(Server(TREE, user="u", password=SECRET))
            login = "user: u, password_env: JM_T, "
            meter("good", None, login + "meter: redfish, url: \"%s\", tls: {pin: \"%s\"}" % (good.url, good.pin))
            expired = stack.enter_context(Server(TREE, user="u", password=SECRET, expired=True))
            meter("expired", "expired", login + "meter: redfish, url: \"%s\", tls: {ca: %s}" % (expired.url, expired.ca))
            other = stack.enter_context(Server(TREE, user="u", password=SECRET, name="DNS:bmc.example"))
            meter("other-host", "certificate", login + "meter: redfish, url: \"%s\", tls: {ca: %s}" % (other.url, other.ca))
            selfsigned = stack.enter_context(Server(TREE, user="u", password=SECRET))
            meter("self-signed", "certificate", login + "meter: redfish, url: \"%s\"" % selfsigned.url)
            for name, want, serve in (
                    ("slow-head", "did not answer", drops(HTTP + b"X-Long: ")),
                    ("slow-body", "did not answer", drops(HTTP + b"Content-Length: 1000000\r\n\r\n{")),
                    ("no-http", "", flood(b"\x00\xff\x01"))):
                meter(name, want, "meter: redfish, url: \"http://127.0.0.1:%d\", login: none" % raw(serve))
            for name, want, serve in (
                    ("rpc-garbage", "does not follow the protocol", rpc(b"HTTP/1.1 400 Bad Request\r\n\r\n")),
                    ("rpc-empty-fragments", "does not follow the protocol", rpc(b"\0" * 64)),
                    ("rpc-huge", "does not follow the protocol", rpc(b"\xff" * 64)),
                    ("rpc-no-link", "no link left", rpc((9, 0, 0, 0))),
                    ("rpc-denied", "who asks", rpc(struct.pack(">6I", 0x80000014, 1, 1, 1, 1, 1))),
                    ("rpc-silent", "does not answer", rpc(LINK, (0, 6))),
                    ("rpc-timeout", "does not answer", rpc(LINK, (0, 6), (15, 0, 0))),
                    ("rpc-endless-answer", "", rpc(LINK, (0, 6), *[(0, 0, 4, 0x41414141)] * 5000)),
                    ("rpc-overtaken", "", rpc(LINK, (0, 6), (0, 4, 0xffffff)))):
                meter(name, want, "meter: yokogawa, volts: 300, amps: 5, at: inlet ac, address: \"vxi11://127.0.0.1:%d\"" % raw(serve))
            mapped = raw(rpc((0,)))
            meter("rpc-not-mapped", "no VXI-11", "meter: yokogawa, volts: 300, amps: 5, address: \"vxi11://127.0.0.1?portmap=%d\"" % mapped)
            meter("lines-without-end", "", "meter: yokogawa, volts: 300, amps: 5, address: \"tcp://127.0.0.1:%d\"" % raw(flood(b"x" * 4096)))
            meter("modbus-flood", "", "meter: modbus, model: sdm120, address: \"127.0.0.1:%d\"" % raw(flood(b"\x7f" * 4096)))
            meter("modbus-drops", "", "meter: modbus, model: sdm120, address: \"127.0.0.1:%d\"" % raw(drops(b"\x00\x01\x00\x00\x00\x07")))
            meter("plug-flood", "", "meter: plug, model: shelly2, url: \"http://127.0.0.1:%d\"" % raw(flood(HTTP + b"\r\n" + b"[" * 65536)))
            meter("kasa-huge", "no Kasa plug", "meter: plug, model: kasa, url: \"127.0.0.1:%d\"" % raw(flood(b"\xff" * 64)))
            garbage = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            garbage.bind(("127.0.0.1", 0))
            stop = threading.Event()
            stack.callback(stop.set)

            def answer():
                garbage.settimeout(.2)
                while not stop.is_set():
                    with contextlib.suppress(OSError):
                        _, who = garbage.recvfrom(4096)
                        garbage.sendto(b"\x30\x84\xff\xff\xff\xff" + b"\x02" * 1200, who)
            threading.Thread(target=answer, daemon=True).start()
            meter("snmp-garbage", "", "meter: snmp, address: \"127.0.0.1:%d\"" % garbage.getsockname()[1])
            wrong = stack.enter_context(Agent({"1.3.6.1.2.1.1.3.0": ("ticks", 1)}, community=b"other"))
            meter("snmp-community", "community", "meter: snmp, community_env: JM_T, address: \"%s\"" % wrong.address)

            with tempfile.TemporaryDirectory() as d:
                with open(d + "/c.yaml", "w") as f:
                    f.write("meters:\n" + "".join(entries))
                p = subprocess.Popen([JOULEMARK, "meters", "--config", d + "/c.yaml", "-m", ",".join(expect), "--no-measure", "--json"],
                                     stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                     env={**os.environ, "JM_T": SECRET})
                time.sleep(.3)
                with contextlib.suppress(OSError), open("/proc/%d/cmdline" % p.pid, "rb") as f:
                    self.assertNotIn(SECRET.encode(), f.read())
                out, err = p.communicate(timeout=240)
            self.assertEqual(p.returncode, 0, err)
            self.assertNotIn(SECRET, out + err)
            m = {(x.get("configured") or {}).get("name"): x for x in json.loads(out)["meters"]}
            for name, want in expect.items():
                with self.subTest(name):
                    if want is None:
                        self.assertEqual(m[name]["state"], "ok", m[name]["reason"])
                        self.assertEqual([c["value"] for c in m[name]["channels"] if c["name"] == "power"], [250])
                    else:
                        self.assertNotEqual(m[name]["state"], "ok", m[name])
                        self.assertIn(want, m[name]["reason"])
                        self.assertTrue(m[name]["reason"])
            for s in (expired, other, selfsigned):  # who is not known gets no password
                self.assertFalse([x for x in s.log if x[0] == "POST"])


class Reset(unittest.TestCase):
    def test_by_a_user(self):
        """A counter of 300 W whose sensor is reset in the middle and set past its old value: only SensorResetTime tells."""
        start, state = time.monotonic(), {"since": "2024-05-06T10:00:00Z", "more": 1e6}
        tree = {"/redfish/v1": {"Chassis": {"@odata.id": "/redfish/v1/Chassis"}}, "/redfish/v1/Chassis": {"Members": [{"@odata.id": "/redfish/v1/Chassis/1"}]},
                "/redfish/v1/Chassis/1": {"EnvironmentMetrics": {"@odata.id": "/redfish/v1/Chassis/1/EnvironmentMetrics"}},
                "/redfish/v1/Chassis/1/EnvironmentMetrics": lambda: {
                    "PowerWatts": {"Reading": 300},
                    "EnergyJoules": {"Reading": round(state["more"] + 300 * (time.monotonic() - start), 1), "SensorResetTime": state["since"]}}}
        for change in (False, True):
            with Server(tree, tls=False) as s, tempfile.TemporaryDirectory() as d:
                with open(d + "/c.yaml", "w") as f:
                    f.write("meters:\n  - {name: bmc, meter: redfish, url: \"%s\", login: none, interval: 250ms}\n" % s.url)
                p = subprocess.Popen([JOULEMARK, "run", "-q", "--no-summary", "--config", d + "/c.yaml", "-m", "bmc", "-o", d + "/r.jmr", "--", "sh", "-c",
                                      "echo > %s/on; until [ -e %s/off ]; do sleep .05; done" % (d, d)], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                     text=True)

                def readings(n):  # so many more, however slow this machine is
                    end, want = time.monotonic() + 120, len(s.log) + n
                    while len(s.log) < want and time.monotonic() < end:
                        time.sleep(.02)

                while not os.path.exists(d + "/on") and p.poll() is None:
                    time.sleep(.02)
                readings(3)
                if change:
                    state["since"] = "2024-05-06T11:00:00Z"
                readings(3)
                open(d + "/off", "w").close()
                err = p.communicate(timeout=120)[1]
                self.assertEqual(p.returncode, 0, err)
                r = subprocess.run([JOULEMARK, "show", "--json", d + "/r.jmr"], capture_output=True, text=True, timeout=120)
                status = next(e for e in json.loads(r.stdout)["energy"] if e["channel"] == "energy")["status"]
                self.assertEqual(status == "reset", change, status)


if __name__ == "__main__":
    tap.main()

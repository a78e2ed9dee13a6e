# SPDX-License-Identifier: Apache-2.0
"""joulemark mlperf director from outside, by a client written from the protocol, with the simulated PTDaemon."""
import hashlib
import json
import os
import re
import socket
import subprocess
import time
import unittest

import patience
import tap
from mlperf_director import FILES, PTD, Client, Director, commands, config, free_port, start

RANGING = ["Hello", "Identify", "RR", "SR,V,Auto", "SR,A,Auto", "SR,A,Auto"]
ONE_RL = ["RL,*,*", "RL", "Uncertainty", "Watts"]


class Whole(unittest.TestCase):
    def test_one_analyzer(self):
        with start(once=True, keep=False, sim="--waveform const:400W") as d:
            c = Client(d.port)
            before, t, after = time.time(), float(c("time")), time.time()
            self.assertTrue(before - 1 < t < after + 1, (before, t, after))
            s = c.new("my_label-1")
            self.assertTrue(s.endswith("_my_label-1"))
            for mode in "ranging", "testing":
                self.assertEqual(c(f"session,{s},start,{mode}"), "OK")
                self.assertEqual(c(f"session,{s},start,{mode}"), "OK")  # said twice, done once
                time.sleep(0.3)
                self.assertEqual(c(f"session,{s},stop,{mode}"), "OK")
                self.assertEqual(c(f"session,{s},stop,{mode}"), "OK")
            self.assertEqual(c(f"session,{s},done"), "OK")
            got = {name: c.download(s, name) for name in FILES}
            self.assertEqual(d.sessions(), [s])
            self.assertEqual(c(f"cleanup,{s}"), "OK")
            self.assertEqual(d.sessions(), [])
            self.assertEqual(c(f"cleanup,{s}"), "Error")
            c.close()
            self.assertEqual(d.wait(), 0, d.text())
        doc = json.loads(got["power/server.json"])
        self.assertEqual(list(doc), ["version", "timezone", "modules", "sources", "messages", "uuid", "session_name",
                                     "results", "phases", "ptd_messages", "ptd_config", "debug", "joulemark"])
        for name in FILES:
            if name != "power/server.json":
                self.assertEqual(doc["results"][name], hashlib.sha1(got[name]).hexdigest(), name)
        self.assertEqual([(m["cmd"], m["reply"]) for m in doc["messages"]],
                         [x for x in c.said if "done" not in x[0] and "cleanup" not in x[0]])
        self.assertEqual([len(doc["phases"][m]) for m in ("ranging", "testing")], [4, 4])
        flat = [p for m in ("ranging", "testing") for p in doc["phases"][m]]
        self.assertEqual(flat, sorted(flat))
        volts, amps = [m["cmd"] for m in doc["ptd_messages"] if m["cmd"].startswith("SR")][3:5]
        self.assertEqual(volts, "SR,V,230.000000")
        # 400 W at 230 V and a power factor of 0.95
        self.assertAlmostEqual(float(amps[5:]), 400 / 230 / 0.95 * 1.1, places=3)
        self.assertEqual(commands(doc), [*RANGING, "Go,1000,0,_ranging", "Stop", *ONE_RL, volts, amps,
                                         "Go,1000,0,_testing", "Watts", "Uncertainty", "Stop", *ONE_RL, "SR,V,Auto",
                                         "SR,A,Auto"])
        self.assertEqual(doc["debug"], True)  # it waited less than 10 s
        self.assertEqual((doc["joulemark"]["official"], doc["joulemark"]["simulated"]), (False, True))
        lines = got["run_1/spl.txt"].decode().split("\n")
        self.assertEqual(lines[-2:], ["", ""])
        self.assertGreater(len(lines), 6)
        for line in lines[:-2]:
            self.assertRegex(line, r"^Time,\d\d-\d\d-\d{4} \d\d:\d\d:\d\d\.\d{3},Watts,400\.000000,Volts,230\.0+,Amps,"
                             r"[\d.]+,PF,0\.95\d*,Mark," + s + "_testing$")
        self.assertTrue(got["run_1/ptd_out.txt"].startswith(b"Analyzer 1:\nPower: Watts,"))

    def test_several_channels_and_analyzers(self):
        with start(("49", "77"), once=True, sim="--waveform const:300W") as d:
            c = Client(d.port)
            s = c.new()
            for mode in "ranging", "testing":
                self.assertEqual(c(f"session,*,start,{mode}"), "OK")
                time.sleep(0.3)
                self.assertEqual(c(f"session,*,stop,{mode}"), "OK")
            self.assertEqual(c(f"session,*,done"), "OK")
            c.close()
            self.assertEqual(d.wait(), 0, d.text())
            doc = d.json(s)
            cmds = commands(doc)
            second = cmds.index("Hello", 1)
            self.assertIn("RL", cmds[:second])
            self.assertEqual(cmds[second:second + 6], RANGING)
            self.assertNotIn("RL", cmds[second:])
            self.assertEqual([x["device_type"] for x in doc["ptd_config"]], [49, 77])
            self.assertEqual(doc["ptd_config"][1]["command"][-4:], ["-c", "1,3", "77", "SIM"])
            rows = [x.split(",") for x in d.read(s, "run_1/spl.txt").split("\n") if x]
            self.assertGreater(len(rows), 3)
            for r in rows:
                self.assertEqual(r[10:12], ["Mark", s + "_testing"])
                a, b = r.index("Analyzer1"), r.index("Analyzer2")
                self.assertEqual(r[a + 1:a + 3], r[0:2])  # time of the first analyzer
                one, two = float(r[a + 4]), float(r[b + 4])
                self.assertAlmostEqual(float(r[3]), -1 if two < 0 else one + two, places=6)
                self.assertEqual(r[b + 13:][::9][:3], ["Ch1", "Ch2", "Ch3"] if two > 0 else [])
            self.assertTrue(any(float(r[3]) == 600 for r in rows), rows)

    def test_no_ranging_and_running_ptd(self):
        port = free_port()
        with subprocess.Popen([PTD, "-p", str(port), "49", "SIM"], stdout=subprocess.DEVNULL,
                              env={**os.environ, "JOULEMARK_SIM_PTD": "--speed 40"}) as p:
            conf = (f"[server]\nntpServer:\n[analyzer1]\nnetworkPort: {port}\n[ptd]\n[joulemark]\nlaunch: no\n"
                    "outDir: @OUT@\nsettle: 10ms\n")
            with Director(conf, "--once", "--keep") as d:
                c = Client(d.port)
                s = c.new()
                self.assertRegex(c(f"session,{s},start,testing"), "^Error: cannot start testing in the state INITIAL")
                for bad in "0,1", "230,x", "230,-1", "nan,1", "230,1\x00", "1e400,1":
                    self.assertRegex(c(f"session,{s},start,testing,{bad}"), "^Error: the ranges are two numbers")
                self.assertEqual(c(f"session,{s},start,testing,230,2.5"), "OK")
                time.sleep(0.3)
                self.assertEqual(c(f"session,{s},stop,testing"), "OK")
                self.assertEqual(c(f"session,{s},done"), "OK")
                c.close()
                self.assertEqual(d.wait(), 0, d.text())
                doc = d.json(s)
                self.assertEqual(commands(doc)[:6], ["Hello", "Identify", "RR", "SR,V,230", "SR,A,2.5",
                                                     "Go,1000,0,_testing"])
                self.assertEqual(doc["phases"]["ranging"], [])
                self.assertTrue(doc["joulemark"]["ranging_skipped"])
                self.assertEqual(doc["ptd_config"][0]["command"], [])
            self.assertIsNone(p.poll())  # not ours to end
            p.terminate()


class Hostile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.d = start()

    @classmethod
    def tearDownClass(cls):
        cls.d.__exit__()

    def served(self):
        c = Client(self.d.port)
        self.assertRegex(c("time"), r"^\d+\.\d+$")
        c.close()

    def test_what_is_no_client(self):
        for data in (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\x00\xff\xfe\r\n", b"\n", b"mlcommons/power client v2\r\n",
                     b"A" * 5000 + b"\r\n", b"B" * 200000):
            with socket.create_connection(("127.0.0.1", self.d.port), timeout=120) as s:
                s.sendall(data)
                got = b""
                try:
                    while True:
                        piece = s.recv(4096)
                        if not piece:
                            break
                        got += piece
                except ConnectionError:
                    pass
                self.assertIn(got, (b"", b"mlcommons/power server v3\r\n"))
        self.served()

    def test_wrong_words(self):
        c = Client(self.d.port)
        for cmd in ("", ",", "new", "new,a", "session", "session,x", "download", "download,x", "cleanup", "hello",
                    "TIME", "download,x,run_1/spl.txt", "cleanup,x", "x" * 4000, "\x01\x02", "é" * 100):
            self.assertEqual(c(cmd), "Error", cmd)
        for cmd in ("session,x,done", "session,../../x,start,ranging", "session,,", "session,*,done"):
            self.assertEqual(c(cmd), "Error: unknown session", cmd)
        for label in ("../../x", "a/b", "a b", "a.b", "é", "a" * 129, "a%s"):
            self.assertEqual(c(f"new,{label},56a4d881-4d7c-4a84-a7b8-c40515ad068d"), "Error: invalid label", label)
        self.assertRegex(c("new,a,../../x"), "^Error: that is no UUID")
        s = c.new("a")
        self.assertEqual(c("session,other,start,ranging"), "Error: unknown session")
        self.assertEqual(c(f"session,{s},upload,client.log"), "Error Unknown session command")
        self.assertRegex(c(f"session,{s},stop,ranging"), "^Error: cannot stop ranging in the state INITIAL")
        self.assertRegex(c(f"session,{s},start,testing"), "^Error: cannot start testing in the state INITIAL")
        for name in ("power/../../../../etc/passwd", "/etc/passwd", "power/client.json", "INCOMPLETE.txt", "power",
                     "power/ptd_logs_analyzer_1.txt", ""):
            self.assertEqual(c(f"download,{s},{name}"), "Error", name)
        self.assertEqual(c(f"download,{s},run_1/spl.txt"), "Error: there is no run_1/spl.txt in this session")
        self.assertRegex(c(f"cleanup,{s}"), "^Error: the session is not done")
        t = c.new("b")  # another session ends the first
        self.assertEqual(c(f"session,{s},start,ranging"), "Error: unknown session")
        self.assertIn("began another", self.d.read(s, "INCOMPLETE.txt"))
        self.assertEqual(c(f"session,{t},done"), "OK")
        self.assertRegex(c("new,c,56a4d881-4d7c-4a84-a7b8-c40515ad068d"), "^Error: one session a connection")
        c.close()
        self.assertEqual(os.listdir(os.path.dirname(self.d.out)).count("x"), 0)

    def test_bytes_in_pieces(self):
        c = Client(self.d.port)
        for b in b"time\r\ntime\ntime\r\r\n":
            c.raw(bytes([b]))
            time.sleep(0.001)
        for _ in range(3):
            self.assertRegex(c.line(), r"^\d+\.\d+$")
        c.close()

    def test_second_client(self):
        first = Client(self.d.port)
        s = first.new("first")
        with socket.create_connection(("127.0.0.1", self.d.port), timeout=120) as other:
            other.sendall(b"mlcommons/power client v3\r\n")
            text = other.makefile("rb").read().decode()
            self.assertRegex(text, "^Error: the Director is busy with another client, session " + s)
        self.assertEqual(first(f"session,{s},start,ranging"), "OK")
        with socket.create_connection(("127.0.0.1", self.d.port), timeout=120) as other:
            self.assertRegex(other.makefile("rb").read().decode(), "^Error: the Director is busy")
        first.close()
        self.served_soon()

    def served_soon(self):
        for _ in range(1200):
            with socket.create_connection(("127.0.0.1", self.d.port), timeout=120) as s:
                s.sendall(b"mlcommons/power client v3\r\n")
                if s.makefile("rb").readline() == b"mlcommons/power server v3\r\n":
                    return
            time.sleep(0.05)
        self.fail("not served again")

    def test_client_vanishes(self):
        steps = {"INITIAL": [], "RANGING": ["start,ranging"], "RANGING_DONE": ["start,ranging", "stop,ranging"],
                 "TESTING": ["start,ranging", "stop,ranging", "start,testing"],
                 "TESTING_DONE": ["start,ranging", "stop,ranging", "start,testing", "stop,testing"]}
        for state, cmds in steps.items():
            for _ in range(3000):
                try:
                    c = Client(self.d.port)
                    break
                except (AssertionError, ConnectionError):
                    time.sleep(0.02)
            s = c.new(state)
            for cmd in cmds:
                self.assertEqual(c(f"session,{s},{cmd}"), "OK")
                if "start" in cmd:
                    time.sleep(0.15)
            c.close()
            patience.until(lambda: os.path.exists(os.path.join(self.d.out, s, "power/server.json")))
            self.assertIn("went away in the state " + state, self.d.read(s, "INCOMPLETE.txt").replace("\n", " "))
            doc = self.d.json(s)
            self.assertFalse(doc["joulemark"]["complete"])
            if cmds:
                got = commands(doc)
                self.assertEqual(got[-2:], ["SR,V,Auto", "SR,A,Auto"])
                self.assertEqual(got.count("Stop"), sum("start" in x for x in cmds))
            if state in ("TESTING", "TESTING_DONE"):  # what was measured is saved
                self.assertIn("_testing\n", self.d.read(s, "run_1/spl.txt"))
            self.assertEqual(doc["results"]["power/server.log"],
                             hashlib.sha1(self.d.read(s, "power/server.log").encode()).hexdigest())


class Config(unittest.TestCase):
    def test_stale_form(self):
        conf = (f"[server]\nntpServer:\noutDir: @OUT@\n[ptd]\nptd: {PTD}\nlogFile: x.txt\ndeviceType: 49\n"
                f"interfaceFlag:\ndevicePort: COM1\nnetworkPort: {free_port()}\n")
        with Director(conf) as d:
            text = d.text()
            self.assertRegex(text, r"described in \[ptd\], as older documentation has it")
            self.assertRegex(text, r"outDir in \[server\] is of older versions")
            self.assertRegex(text, r"unknown option logFile in \[ptd\] on line 6 is not read")
            self.assertEqual(d.end(), 0)

    def test_what_is_wrong(self):
        good = config()
        for conf, text in (("", "there is no section"), ("x: 1\n", "before the first"),
                           (good.replace("deviceType: 49", ""), "deviceType is missing"),
                           (good.replace("deviceType: 49", "deviceType: 77"), "needs \"channel: FIRST,COUNT\""),
                           (good.replace("analyzerCount: 1", "analyzerCount: 2"), "no section \\[analyzer2\\]"),
                           (good.replace("analyzerCount: 1", "analyzerCount: many"), "no whole number"),
                           (good.replace("settle: 10ms", "settle: 10"), "settle"),
                           (good.replace("ntpServer:", "#"), "needs ntpServer"),
                           (good + "settle: 1s\n", "given twice")):
            with Director(conf, wait=False) as d:
                self.assertEqual(d.wait(), 2, conf)
                self.assertRegex(d.text(), text)


if __name__ == "__main__":
    tap.main()

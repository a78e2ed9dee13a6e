# SPDX-License-Identifier: Apache-2.0
"""A Director whose PTDaemon, disk, client or clock is not as it should be."""
import os
import resource
import signal
import time
import unittest

import patience
import tap
from mlperf_director import Client, Director, NtpServer, commands, config, free_port, start


class Trouble(unittest.TestCase):
    def session(self, d, cmds, label=""):
        """Runs the commands after new; the last reply."""
        c = Client(d.port)
        s, reply = c.new(label), ""
        for cmd in cmds:
            reply = c(f"session,{s},{cmd}")
            if reply != "OK":
                break
            if "start" in cmd:
                time.sleep(0.2)
        return c, s, reply

    ALL = ["start,ranging", "stop,ranging", "start,testing", "stop,testing", "done"]

    def test_refused_range(self):
        with start(once=True, sim="--fault refuse=A") as d:
            c, s, reply = self.session(d, self.ALL)
            self.assertRegex(reply, r"^Error setting current range: [\d.]+ \(analyzer 1 answered")
            self.assertRegex(c(f"session,{s},start,testing"), "^Error: the session has ended: Error setting current")
            c.close()
            self.assertEqual(d.wait(), 3, d.text())
            self.assertIn("Error setting current range", d.read(s, "INCOMPLETE.txt"))
            self.assertEqual(commands(d.json(s))[-2:], ["SR,V,Auto", "SR,A,Auto"])

    def test_dies_while_measuring(self):
        with start(once=True, sim="--fault die@testing:30s") as d:
            c, s, reply = self.session(d, self.ALL[:3])
            self.assertEqual(reply, "OK")
            patience.until(lambda: os.path.exists(os.path.join(d.out, s, "power/server.json")))
            # it is known before the client asks
            self.assertRegex(d.read(s, "INCOMPLETE.txt"), "PTDaemon of analyzer 1 ended with status 1")
            self.assertRegex(c(f"session,{s},stop,testing"),
                             "^Error: the session has ended: PTDaemon of analyzer 1 ended with status 1")
            self.assertRegex(c("time"), r"^\d+\.\d+$")
            self.assertTrue(c.download(s, "power/ptd_logs.txt").startswith(b"Analyzer 1\n"))
            self.assertEqual(c(f"cleanup,{s}"), "OK")
            c.close()
            self.assertEqual(d.wait(), 3, d.text())
            self.assertEqual(d.sessions(), [s])  # kept all the same
            # what the dead one had written itself
            self.assertIn("_testing", d.read(s, "power/ptd_samples_analyzer_1.txt"))

    def test_silent_ptd(self):
        for fault, cmds in (("silent@ranging:1s", self.ALL), ("close@ranging:1s", self.ALL)):
            with Director(config(ours="ptdTimeout: 1500ms"), "--once",
                          env={"JOULEMARK_SIM_PTD": f"--speed 40 --fault {fault}"}) as d:
                c, s, reply = self.session(d, cmds)
                self.assertRegex(reply, "^Error: .*PTDaemon of analyzer 1 (is silent|closed the connection|ended)")
                c.close()
                self.assertEqual(d.wait(), 3, d.text())

    def test_garbage_and_short(self):
        for fault in ("short=2", "cut=150", "garbage@ranging:1s"):
            with Director(config(ours="ptdTimeout: 1500ms"), "--once",
                          env={"JOULEMARK_SIM_PTD": f"--speed 40 --fault {fault}"}) as d:
                c, s, reply = self.session(d, self.ALL)
                self.assertTrue(reply.startswith("Error") or reply == "OK", reply)
                c.close()
                d.wait()
                self.assertTrue(os.path.exists(os.path.join(d.out, s, "power/server.json")), fault)

    def test_local_time(self):
        # a PTDaemon without TZ=UTC, the classic of power-dev #205
        with start(once=True, sim="--speed 10 --fault jump=-2h@1s") as d:
            c, s, reply = self.session(d, self.ALL)
            self.assertRegex(reply, r"^Error: the samples of analyzer 1 are stamped (2\.0\d|1\.9\d) h behind this machine's UTC")
            c.close()
            self.assertEqual(d.wait(), 3, d.text())

    def test_does_not_start(self):
        for fault, text in (("nostart", "ended with status 1"), ("hello=HTTP/1.0", "is no PTDaemon")):
            with Director(config(), env={"JOULEMARK_SIM_PTD": f"--fault {fault}"}, wait=False) as d:
                self.assertEqual(d.wait(), 4, d.text())
                self.assertIn(text, d.text())

    def test_told_to_end(self):
        with start() as d:
            c, s, reply = self.session(d, self.ALL[:3])
            self.assertEqual(d.end(signal.SIGINT), 3)
            self.assertIn("told to end", d.read(s, "INCOMPLETE.txt"))
            self.assertEqual(commands(d.json(s))[-2:], ["SR,V,Auto", "SR,A,Auto"])
            self.assertIn("Stop", commands(d.json(s))[-8:])
            c.close()
        with start() as d:
            self.assertEqual(d.end(signal.SIGTERM), 0)

    def test_full_disk(self):
        with start(once=True) as d:
            c, s, reply = self.session(d, self.ALL[:3])
            self.assertEqual(reply, "OK")
            resource.prlimit(d.process.pid, resource.RLIMIT_FSIZE, (300, 300))
            self.assertRegex(c(f"session,{s},stop,testing"), "^Error: cannot write ")
            c.close()
            self.assertEqual(d.wait(), 3, d.text())

    def test_done_too_early(self):  # as a client whose workload failed ends it
        with Director(config(), "--once", env={"JOULEMARK_SIM_PTD": "--speed 40"}) as d:
            c, s, _ = self.session(d, ["start,ranging", "stop,ranging"])
            self.assertEqual(c(f"session,{s},done"), "OK")
            c.close()
            self.assertEqual(d.wait(), 3, d.text())
            self.assertIn("in the state RANGING_DONE", d.read(s, "INCOMPLETE.txt"))
            self.assertIn("1 of them incomplete", d.text())

    def test_silent_client(self):
        with Director(config(ours="idleTimeout: 1500ms"), "--once", env={"JOULEMARK_SIM_PTD": "--speed 40"}) as d:
            c, s, _ = self.session(d, ["start,ranging"])
            time.sleep(2)  # measuring may take its time
            self.assertEqual(c(f"session,{s},stop,ranging"), "OK")
            self.assertEqual(d.wait(), 3, d.text())
            self.assertIn("silent", d.read(s, "INCOMPLETE.txt"))
            c.close()


class Clock(unittest.TestCase):
    def test_ntp(self):
        for offset, status in ((0.05, None), (-0.1, None), (0.9, 4), (-0.8, 4)):  # the limit of 0.4 s itself: ntp_test.c
            ntp = NtpServer(offset)
            with Director(config(ntp=ntp.address), env={"JOULEMARK_SIM_PTD": "--speed 40"}, wait=status is None) as d:
                if status is None:
                    c = Client(d.port)
                    self.assertEqual(c("set_ntp"), "OK")
                    s = c.new()
                    self.assertEqual(c(f"session,{s},done"), "OK")
                    c.close()
                    self.assertAlmostEqual(d.end(), 0)
                    continue
                self.assertEqual(d.wait(), status, d.text())
                self.assertRegex(d.text(), r"this clock is 0\.\d+ s (behind|ahead of) the NTP server .*ntpdate")
            ntp.close()

    def test_kiss_of_death_and_nobody(self):
        ntp = NtpServer(stratum=0)
        for server, text in ((ntp.address, "kiss of death"), (f"127.0.0.1:{free_port()}", "nobody listens"),
                             ("no.such.host.invalid", "cannot find the address")):
            with Director(config(ntp=server), wait=False) as d:
                self.assertEqual(d.wait(), 4, d.text())
                self.assertIn(text, d.text())
        ntp.close()

    def test_stop_and_set_ntp(self):
        with start() as d:
            c = Client(d.port)
            self.assertEqual(c("set_ntp"), "Error: the Director has no NTP server")
            self.assertEqual(c("stop"), "OK")
            c.close()
            self.assertEqual(d.wait(), 0, d.text())


if __name__ == "__main__":
    tap.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The clock error in a run's environment against a real chronyd: a server and a client on the loopback, both of
which leave the clock alone (-x). What chronyc says is the oracle."""
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402

JM = os.path.join(os.environ.get("JM_BUILD", "build"), "joulemark")
PATH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
CHRONYD, CHRONYC = shutil.which("chronyd", path=PATH), shutil.which("chronyc", path=PATH)


def port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def start(folder, lines):
    os.makedirs(folder, mode=0o750)
    with open(os.path.join(folder, "conf"), "w") as f:
        f.write("\n".join(lines) + f"\npidfile {folder}/pid\nbindcmdaddress {folder}/sock\nbindcmdaddress 127.0.0.1\n")
    import pwd
    user = pwd.getpwuid(os.getuid()).pw_name
    return subprocess.Popen([CHRONYD, "-x", "-d", "-u", user, "-f", os.path.join(folder, "conf")],
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def tracking(cmd):
    r = subprocess.run([CHRONYC, "-h", "127.0.0.1", "-p", str(cmd), "-c", "-n", "tracking"], capture_output=True, text=True)
    f = r.stdout.strip().split(",")
    return f if len(f) >= 14 else None


def env_of(folder, cmd):
    """The keys clock.error.* of a short recording."""
    run, out = os.path.join(folder, "x.jmr"), os.path.join(folder, "json")
    env = dict(os.environ, JM_CHRONY_PORT=str(cmd), XDG_STATE_HOME=folder)
    subprocess.run([JM, "run", "--force", "--no-summary", "--meters", "null", "-o", run, "--", "true"], env=env, check=False,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    import sqlite3
    db = sqlite3.connect(run)
    keys = dict(db.execute("select key, value from env where key like 'clock.error.%'"))
    db.close()
    return keys


@unittest.skipUnless(CHRONYD and CHRONYC, "chrony is not installed")
class Chrony(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        d, ntp = self.folder.name, port()
        self.server_cmd, self.client_cmd = port(), port()
        self.server = start(d + "/server", ["local stratum 8", "allow 127.0.0.1", f"port {ntp}", f"cmdport {self.server_cmd}"])
        self.client = start(d + "/client", [f"server 127.0.0.1 port {ntp} iburst minpoll -2 maxpoll 0", "port 0",
                                            f"cmdport {self.client_cmd}"])

    def tearDown(self):
        for p in (self.client, self.server):
            p.terminate()
            p.wait()
        self.folder.cleanup()

    def test_bound(self):
        end, f = time.monotonic() + 20, None
        while time.monotonic() < end and not (f and f[13] == "Normal"):
            time.sleep(0.2)
            f = tracking(self.client_cmd)
        if not f or f[13] != "Normal":
            self.skipTest("chronyd does not synchronise here")
        k = env_of(self.folder.name, self.client_cmd)
        bounds = [abs(float(x[4])) + float(x[11]) + float(x[10]) / 2 for x in (f, tracking(self.client_cmd))]
        self.assertEqual(k.get("clock.error.start.source"), "chrony", k)
        self.assertEqual(k.get("clock.error.start.reference"), "127.0.0.1", k)
        self.assertEqual(k.get("clock.error.start.stratum"), f[2], k)
        self.assertEqual(k.get("clock.error.end.leap"), "normal", k)
        got = float(k["clock.error.end.bound_s"])
        # chronyd measures again between our look and chronyc's: of the same size is what can be asked for
        self.assertLessEqual(got, 5 * max(bounds))
        self.assertGreaterEqual(got, min(bounds) / 5)
        self.assertAlmostEqual(got, abs(float(k["clock.error.end.offset_s"])) + float(k["clock.error.end.root_dispersion_s"])
                               + float(k["clock.error.end.root_delay_s"]) / 2, delta=3e-9)
        k = env_of(self.folder.name, self.server_cmd)
        self.assertEqual(k.get("clock.error.start.bound_s"), "unknown", k)
        self.assertIn("local", k.get("clock.error.start.why", ""), k)


if __name__ == "__main__":
    tap.main()

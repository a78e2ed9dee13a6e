#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Instruments of a configuration, as a user meets them: examples, probing, recording, secrets, a dead one beside a good one."""
import glob
import json
import os
import socket
import sqlite3
import subprocess
import tempfile
import threading
import unittest

import tap
from simanalyzer import Analyzer

JOULEMARK = os.environ["JOULEMARK"]
SOURCE = os.environ["JM_SOURCE"]
SECRET = "correct-horse-77"


def joulemark(*args, cwd=None):
    return subprocess.run([JOULEMARK, *args], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, cwd=cwd,
                          env={**os.environ, "JM_TEST_SECRET": SECRET})


class Instruments(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)

    def write(self, text):
        path = os.path.join(self.dir.name, "joulemark.yaml")
        with open(path, "w") as f:
            f.write(text)
        return path

    def test_every_example_is_understood(self):
        """Nothing is there at those addresses (192.0.2.0/24 is for documentation): each entry is a row with a reason, never a
        refusal of the file."""
        files = [os.path.join(SOURCE, "examples/node.yaml"), *sorted(glob.glob(os.path.join(SOURCE, "examples/instruments/*.yaml")))]
        self.assertGreaterEqual(len(files), 3)
        for path in files:
            with self.subTest(path):
                r = joulemark("meters", "--config", path, "--meters", "null", "--no-measure", "--json")
                self.assertEqual(r.returncode, 0, r.stderr)

    def test_dead_beside_good(self):
        """The good one is read, the dead one says why and where it is configured; the run has both."""
        hole = socket.create_server(("127.0.0.1", 0))  # takes the connection and says nothing
        self.addCleanup(hole.close)
        with Analyzer("--waveform", "sine:mean=400W,swing=50W,period=3s", connect=False) as a:
            conf = self.write(f"""
meters:
  - name: wall
    meter: yokogawa
    address: {a.url}
    rate: 100ms
    at: inlet dc
    host: node7
    max_power: 2 kW
    accuracy: 0.5 % + 1 W
    interval: 250ms
    password_env: JM_TEST_SECRET
  - {{name: silent, meter: ptd, address: "127.0.0.1:{hole.getsockname()[1]}", timeout: 1s}}
quiet: true
""")
            r = joulemark("meters", "--config", conf, "--no-measure", "--json")
            self.assertEqual(r.returncode, 0, r.stderr)
            doc = json.loads(r.stdout)
            rows = {m.get("configured", {}).get("name"): m for m in doc["meters"]}
            wall, silent = rows["wall"], rows["silent"]
            self.assertEqual((wall["state"], silent["state"]), ("ok", "absent"))
            self.assertEqual(wall["configured"]["address"], a.url)
            self.assertEqual(wall["configured"]["max_power_w"], 2000)
            self.assertEqual(wall["sample_period_s"], 0.25)
            power = next(c for c in wall["channels"] if c["name"] == "power")
            self.assertEqual(power["domain"]["inside"], "inlet_dc")
            self.assertEqual(power["domain"]["key"], "node7")
            self.assertEqual((power["accuracy_relative"], power["accuracy_offset"]), (0.005, 1))
            self.assertIn("line", silent["mend"])
            text = joulemark("meters", "--config", os.path.basename(conf), "--no-measure", cwd=self.dir.name).stdout
            self.assertIn("Instruments of joulemark.yaml: 1 of 2 answer", text)
            self.assertIn("  silent  absent", text)
            self.assertIn("line 13", text)
            self.assertNotIn("ptd: ", text)
            self.assertLessEqual(max(map(len, text.splitlines())), 80)
            run = os.path.join(self.dir.name, "r.jmr")
            r = joulemark("run", "--no-summary", "--config", conf, "-o", run, "--", "sleep", "2")
            self.assertIn(r.returncode, (0, 3), r.stderr)
            self.assertNotIn(SECRET, r.stdout + r.stderr)
            a.close()
        db = sqlite3.connect(run)
        states = dict(db.execute("SELECT instance, state FROM meter WHERE instance != ''"))
        self.assertTrue(db.execute("SELECT count(*) FROM raw WHERE name LIKE 'replies/wall/%'").fetchone()[0])
        db.close()
        self.assertEqual(states["wall"], "ok")
        self.assertEqual(states["silent"], "absent")
        with open(run, "rb") as f:
            self.assertNotIn(SECRET.encode(), f.read())
        show = json.loads(joulemark("show", "--json", run).stdout)
        self.assertIn("instrument.absent", [f["id"] for f in show["validity"]["findings"]])

    def test_wrong_files(self):
        for text, says in (("meters:\n  - name: a\n    meter: ptd\n    adress: h\n", 'line 4, column 5: unknown key "adress"; did you mean "address"?'),
                           ("meters:\n  - {name: a, meter: ptd, address: h, interval: 3 W}\n", "not a unit of time"),
                           ("meters:\n  - {name: a, meter: ptd, address: h, password: %s, password_env: X}\n" % SECRET, "given in 2 ways")):
            with self.subTest(says):
                r = joulemark("meters", "--config", self.write(text))
                self.assertEqual(r.returncode, 2)
                self.assertIn(says, r.stderr)
                self.assertNotIn(SECRET, r.stderr)

    def test_what_a_device_says_is_no_command_for_the_terminal(self):
        """An instrument that answers with escape sequences, in the reason of `meters` and in the run."""
        rogue = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(rogue.close)

        def serve():
            while True:
                try:
                    with rogue.accept()[0] as c:
                        c.recv(100)
                        c.sendall(b"\x1b[2J\x1b]0;owned\x07hello\r\n")
                except OSError:
                    return
        threading.Thread(target=serve, daemon=True).start()
        conf = self.write("meters:\n  - {name: rogue, meter: ptd, timeout: 1s, address: \"127.0.0.1:%d\"}\n" % rogue.getsockname()[1])
        run = os.path.join(self.dir.name, "r.jmr")
        for r in (joulemark("meters", "--config", conf, "--no-measure"),
                  joulemark("run", "--config", conf, "-o", run, "-m", "rogue", "--", "true")):
            self.assertIn("hello", r.stdout + r.stderr)
            self.assertNotIn("\x1b", r.stdout + r.stderr)
        r = joulemark("meters", "--config", self.write("meters:\n  - {name: a, meter: ptd, address: \"h\\e[31m\"}\n"))
        self.assertEqual(r.returncode, 2)
        self.assertIn("control characters", r.stderr)
        self.assertNotIn("\x1b", r.stderr)

    def test_chosen_by_name(self):
        conf = self.write("meters:\n  - {name: upstairs, meter: ptd, address: \"127.0.0.1:9\"}\n")
        r = joulemark("meters", "--config", conf, "-m", "upstair", "--no-measure")
        self.assertEqual(r.returncode, 2)
        self.assertIn('did you mean "upstairs"', r.stderr)
        doc = json.loads(joulemark("meters", "--config", conf, "-m", "null", "--no-measure", "--json").stdout)
        self.assertEqual([m["name"] for m in doc["meters"]], ["null"])
        conf = self.write("meters: null,rapl\n")  # the option of the command line, as ever
        doc = json.loads(joulemark("meters", "--config", conf, "--no-measure", "--json").stdout)
        self.assertEqual([m["name"] for m in doc["meters"]], ["rapl", "null"])

    def test_a_secret_in_the_file_is_warned_about(self):
        conf = self.write("meters:\n  - {name: a, meter: ptd, address: \"127.0.0.1:9\", password: %s}\n" % SECRET)
        r = joulemark("meters", "--config", conf, "--no-measure", "--json")
        self.assertIn("password stands in the configuration", r.stderr)
        self.assertNotIn(SECRET, r.stderr + r.stdout)


if __name__ == "__main__":
    tap.main()

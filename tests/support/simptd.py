# SPDX-License-Identifier: Apache-2.0
"""A simulated PTDaemon for tests: starts it, talks to it, reads its truth."""
import json
import os
import re
import signal
import socket
import subprocess
import tempfile
import time

BUILD = os.environ["JM_BUILD"]
PTD = os.path.join(BUILD, "sim", "ptd", "joulemark-sim-ptd")
SIM = os.path.join(BUILD, "sim", "joulemark-sim")


class Ptd:
    """with Ptd("77", "-c", "1,3", ...) as p: p.cmd("Hello")"""

    def __init__(self, *args, type="49", connect=True):
        self.dir = tempfile.TemporaryDirectory()
        self.log = os.path.join(self.dir.name, "samples.log")
        self.truth_file = os.path.join(self.dir.name, "truth.json")
        self.out_file = os.path.join(self.dir.name, "out.txt")
        with open(self.out_file, "wb") as out:
            self.p = subprocess.Popen([PTD, "-l", self.log, "-p", "0", "--truth", self.truth_file, *args, type, "SIM"],
                                      stdout=out, stderr=subprocess.STDOUT, env={**os.environ, "TZ": "UTC"})
        self.port = None
        self.sock = None
        try:
            end = time.monotonic() + 60
            while self.port is None and self.p.poll() is None and time.monotonic() < end:
                m = re.search(r"listener on port (\d+)", self.out())
                self.port = m and int(m.group(1))
                if self.port is None:
                    time.sleep(0.01)
            if connect and self.port:
                self.connect()
        except BaseException:
            self.close()
            raise

    def connect(self):
        self.sock = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        self.file = self.sock.makefile("rb")

    def out(self):
        with open(self.out_file, encoding="latin-1", newline="") as f:
            return f.read()

    def send(self, text):
        self.sock.sendall(text.encode() + b"\r\n")

    def recv(self):
        line = self.file.readline()
        assert line.endswith(b"\r\n"), line
        return line[:-2].decode("latin-1")

    def cmd(self, text):
        self.send(text)
        return self.recv()

    def rl(self, command="RL"):
        reply = self.cmd(command)
        return reply, [self.recv() for _ in range(int(reply.split()[1]))] if reply.startswith("Last ") else []

    def measure(self, mark, samples, stop=True):
        """Go, until so many samples are in the log of -l, Stop."""
        reply = self.cmd(f"Go,1000,0,{mark}")
        assert reply.startswith("Starting"), reply
        end = time.monotonic() + 120
        while len(self.rows(mark)) < samples:
            assert time.monotonic() < end and self.p.poll() is None, self.out()[-500:]
            time.sleep(0.005)
        if not stop:
            return None
        reply = self.cmd("Stop")
        self.cmd("RR")  # answered when the last sample is taken
        return reply

    def rows(self, mark=None):
        try:
            with open(self.log, encoding="ascii", newline="") as f:
                lines = f.read().split("\n")[:-1]
        except FileNotFoundError:
            return []
        return [line for line in lines if mark is None or line.split(",Mark,")[1].split(",")[0] == mark]

    def close(self):
        if self.sock:
            self.sock.close()
            self.file.close()
        if self.p.poll() is None:
            self.p.send_signal(signal.SIGTERM)
            try:
                self.p.wait(60)
            except subprocess.TimeoutExpired:
                self.p.kill()
                self.p.wait()
        self.status = self.p.returncode
        self.text = self.out()
        self.truth = None
        if os.path.exists(self.truth_file):
            with open(self.truth_file, encoding="utf-8") as f:
                self.truth = json.load(f)
        return self.truth

    def energy(self, t0_ns, t1_ns):
        """True energy of a closed one between two Unix times."""
        r = subprocess.run([SIM, "truth", "--from", f"@{t0_ns}", "--to", f"@{t1_ns}", self.truth_file],
                           capture_output=True, text=True, timeout=120, check=True)
        return json.loads(r.stdout)["joules"]

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        if not hasattr(self, "status"):
            self.close()
        self.dir.cleanup()

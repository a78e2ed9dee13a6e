# SPDX-License-Identifier: Apache-2.0
"""A simulated power analyzer for tests."""
import json
import os
import signal
import socket
import subprocess
import tempfile

SIM = os.path.join(os.environ["JM_BUILD"], "sim", "joulemark-sim")


class Analyzer:
    def __init__(self, *args, connect=True):
        self.dir = tempfile.TemporaryDirectory()
        self.truth_file = os.path.join(self.dir.name, "truth.json")
        self.p = subprocess.Popen([SIM, "analyzer", "--truth", self.truth_file, *args], stdout=subprocess.PIPE, text=True)
        self.places = [self.p.stdout.readline().strip()]
        if "--pty" in args and "--port" in args:
            self.places.append(self.p.stdout.readline().strip())
        self.url = self.places[0]
        self.sock = None
        if connect and self.url.startswith("tcp://"):
            self.connect()

    def connect(self):
        host, port = self.url[6:].split(":")
        self.sock = socket.create_connection((host, int(port)), timeout=60)
        self.file = self.sock.makefile("rb")

    def send(self, text):
        self.sock.sendall(text.encode() + b"\n")

    def ask(self, text):
        self.send(text)
        line = self.file.readline()
        assert line.endswith(b"\n"), line
        return line[:-1].decode("latin-1")

    def close(self):
        if self.sock:
            self.file.close()
            self.sock.close()
            self.sock = None
        if self.p.poll() is None:
            self.p.send_signal(signal.SIGTERM)
        self.status = self.p.wait(60)
        self.p.stdout.close()
        with open(self.truth_file, encoding="utf-8") as f:
            return json.load(f)

    def energy(self, t0_ns, t1_ns):
        r = subprocess.run([SIM, "truth", "--from", f"@{t0_ns}", "--to", f"@{t1_ns}", self.truth_file],
                           capture_output=True, text=True, timeout=120, check=True)
        return json.loads(r.stdout)["joules"]

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        if not hasattr(self, "status"):
            self.close()
        self.dir.cleanup()

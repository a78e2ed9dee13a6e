# SPDX-License-Identifier: Apache-2.0
"""A test case around joulemark mlperf sut: a folder, a workload, an NTP server and Directors by script."""
import hashlib
import json
import os
import subprocess
import tempfile
import unittest

import mlperf_director
import power_server

JOULEMARK = os.environ["JOULEMARK"]


def sha1(path):
    with open(path, "rb") as f:
        return hashlib.sha1(f.read()).hexdigest()


def running(group):
    """Processes of a group that are not just waiting to be reaped."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
                state, _, of = f.read().rsplit(")", 1)[1].split()[:3]
        except OSError:
            continue
        if int(of) == group and state != "Z":
            found.append(int(pid))
    return found


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.at = self.folder.name
        self.indir, self.out = os.path.join(self.at, "in"), os.path.join(self.at, "out")
        self.workload = f"sh {power_server.workload(self.at)} {self.indir}/run"
        self.ntp = mlperf_director.NtpServer()
        self.servers = []

    def tearDown(self):
        self.ntp.close()
        for s in self.servers:
            s.close()
        self.folder.cleanup()

    def server(self, **more):
        s = power_server.Server(**more)
        self.servers.append(s)
        return s

    def command(self, server, *more, workload=None, ntp=True):
        return [JOULEMARK, "mlperf", "sut", "-a", "127.0.0.1", "-p", str(server.port), "-w", workload or self.workload,
                "-L", self.indir, "-o", self.out, *(["-n", self.ntp.address] if ntp else ["--no-ntp"]), *more]

    def sut(self, server, *more, **how):
        return subprocess.run(self.command(server, *more, **how), capture_output=True, text=True, timeout=240)

    def session(self, name="2026-01-30_10-00-00"):
        return os.path.join(self.out, name)

    def client(self, name="2026-01-30_10-00-00"):
        with open(os.path.join(self.session(name), "power", "client.json"), encoding="utf-8") as f:
            return json.load(f)

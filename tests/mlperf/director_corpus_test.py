# SPDX-License-Identifier: Apache-2.0
"""Published sessions played again: a PTDaemon that follows the recorded conversation word by word, a client that
says what the real one said. The Director's replies, its commands and its power logs must be those of the session."""
import json
import os
import re
import stat
import sys
import tempfile
import unittest

import tap
from mlperf_director import FILES, Client, Director, free_port

CORPUS = tap.corpus()


def find_sessions():
    """performance/ folders of the unpacked corpus whose server.json is of the present way to read samples (since 2023)."""
    root = os.path.join(os.environ.get("JM_BUILD", "build"), "corpus", "mlperf")
    if CORPUS and os.path.isdir(os.path.join(CORPUS, "mlperf")):
        root = os.path.join(CORPUS, "mlperf")
    found = []
    for at, _, files in os.walk(root):
        if at.endswith("performance/power") and "server.json" in files:
            with open(os.path.join(at, "server.json")) as f:
                doc = json.load(f)
            if any(m["cmd"].startswith("RL") for m in doc["ptd_messages"]):
                found.append((os.path.dirname(at), doc))
    return sorted(found, key=lambda x: x[0])


def rl(spl, name):
    """What RL gave, from the spl.txt that was made of it: without mark and names of channels."""
    with open(spl) as f:
        lines = f.read().replace("\r\n", "\n").split("\n")
    out = []
    for line in lines:
        if line.startswith("Time,"):
            line = line.replace(",Mark," + name, "")
            out.append(re.sub(r",Ch\d+,", ",", line))
    return out


class Replay(unittest.TestCase):
    def play(self, performance, doc):
        old = doc["session_name"]
        config = doc["ptd_config"]
        config = config[0] if isinstance(config, list) else config
        ask, samples, seen = [], [], 0
        for m in doc["ptd_messages"]:
            cmd, reply = m["cmd"].replace(old, "@ID@"), m["reply"]
            if reply.startswith("Last "):
                mode = ["ranging", "run_1"][seen]
                lines = rl(os.path.join(performance, mode, "spl.txt"), old + ["_ranging", "_testing"][seen])
                self.assertEqual(int(reply.split(" ")[1]), len(lines))
                samples.append(lines)
                seen += 1
            ask.append([cmd, reply])
        # the first version that read samples so asked for one channel only
        early = not any(a[0] == "RL,*,*" for a in ask)
        if early:
            ask = [x for a in ask for x in
                   ([["RL,*,*", "Invalid number of parameters"], a] if a[0] == "RL" else [a])]
        # before v5.1 the range of the current was set once
        amps = [a for a in ask if a[0] == "SR,A,Auto"]
        if ask[4][0] == "SR,A,Auto" and ask[5][0] != "SR,A,Auto" and amps:
            ask.insert(5, ask[4])
        with tempfile.TemporaryDirectory() as tmp:
            script, program = os.path.join(tmp, "script.json"), os.path.join(tmp, "ptd")
            with open(script, "w") as f:
                json.dump({"ask": ask, "samples": samples}, f)
            with open(program, "w") as f:
                f.write(f"#!/bin/sh\nexec {sys.executable} {os.path.abspath(sys.modules['mlperf_director'].__file__)} \"$@\"\n")
            os.chmod(program, stat.S_IRWXU)
            channel = config.get("channel")
            conf = "\n".join([
                "[server]", "ntpServer:", "[ptd]", f"ptd: {program}", "analyzerCount: 1", "[analyzer1]",
                f"networkPort: {free_port()}", f"deviceType: {config['device_type']}",
                f"interfaceFlag: {config['interface_flag']}", f"devicePort: {config['device_port']}",
                "channel: " + ",".join(map(str, channel)) if channel else "", "[joulemark]", "outDir: @OUT@",
                "settle: 10ms"])
            with Director(conf, "--once", "--keep", env={"PTD_SCRIPT": script}) as d:
                c = Client(d.port, hello=False)
                new = None
                for m in doc["messages"]:
                    cmd = m["cmd"].replace(old, new or "@")
                    reply = c(cmd)
                    if m["cmd"] == "time":
                        self.assertRegex(reply, r"^\d{10}\.\d{1,7}$")
                    elif m["cmd"].startswith("new,"):
                        self.assertRegex(reply, r"^OK \d{4}-\d\d-\d\d_\d\d-\d\d-\d\d(_[-\w]+)?,[0-9a-f-]{36}$")
                        new = reply[3:].split(",")[0]
                        self.assertEqual(new[19:], old[19:])
                    else:
                        self.assertEqual(reply, m["reply"].replace(old, new or "@"), cmd)
                self.assertEqual(c(f"session,{new},done"), "OK")
                got = {name: c.download(new, name) for name in FILES}
                self.assertEqual(c(f"cleanup,{new}"), "OK")
                c.close()
                self.assertEqual(d.wait(), 0, d.text())
                self.assertIn(b"TZ UTC", got["power/ptd_logs.txt"])
                self.assertTrue(got["power/ptd_logs.txt"].startswith(b"Analyzer 1\n"))
                self.assertNotIn(b"SCRIPT:", got["power/ptd_logs.txt"])
                doc2 = json.loads(got["power/server.json"])
                self.assertEqual([[m["cmd"].replace(new, "@ID@"), m["reply"]] for m in doc2["ptd_messages"]], ask)
                self.assertEqual([m["cmd"].replace(new, old) for m in doc2["messages"]],
                                 [m["cmd"] for m in doc["messages"]])
                for name in ["ranging/spl.txt", "run_1/spl.txt"]:
                    with open(os.path.join(performance, name), "rb") as f:
                        want = f.read().replace(b"\r\n", b"\n").replace(old.encode(), new.encode())
                    # the blank last line came after it
                    self.assertTrue(got[name] == want + b"\n" * early, name)


def add(performance, doc):
    name = os.path.basename(os.path.dirname(performance)).replace(".", "_").replace("-", "_")
    setattr(Replay, "test_" + name, lambda self: self.play(performance, doc))


if __name__ == "__main__":
    sessions = find_sessions()
    if not sessions:
        print("1..0 # SKIP no unpacked sessions; run make corpus")
        sys.exit(77)
    for s in sessions:
        add(*s)
    tap.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What joulemark mlperf sut says and writes beside what the public client said and wrote in published sessions of v4.1 and v5.1."""
import glob
import json
import os
import re
import unittest

import tap
from sutcase import Case

FOLDER = tap.corpus()
SESSIONS = sorted(glob.glob(os.path.join(FOLDER, "mlperf", "v[45].1_*", "performance", "power"))) if FOLDER else []


def plain(text, doc):
    for name, value in (("ID", doc["session_name"]), ("UUID", doc["uuid"]["client"]), ("SUUID", doc["uuid"]["server"])):
        text = text.replace(value, name)
    return text


def log(path, doc):
    """Messages with what differs from run to run taken out."""
    out = []
    with open(path, encoding="utf-8") as f:
        for line in f:
            level, text = re.match(r"client \d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} \[(\w+)\] (.*)", line).groups()
            if text.startswith(("Creating output directory", "Sources: ")):
                continue
            text = re.sub(r"-?\d+\.\d+", "X", plain(text, doc))
            text = re.sub(r"(Running the workload|Copying loadgen logs from|Synchronizing with the server and with) .*", r"\1", text)
            out.append((level, text))
    return out


@unittest.skipUnless(SESSIONS, "the public data is not unpacked (make corpus)")
class Published(Case):
    def test_each_session(self):
        seen = set()
        for power in SESSIONS:
            with open(os.path.join(power, "client.json"), encoding="utf-8") as f:
                text = f.read()
            want = json.loads(text)
            stop = any(m["cmd"] == "stop" for m in want["messages"])
            label = want["session_name"][20:]
            with self.subTest(session=power.split(os.sep)[-3]):
                self.tearDown()
                self.setUp()
                r = self.sut(self.server(), *(["-S"] if stop else []), *(["-l", label] if label else []))
                self.assertEqual(r.returncode, 0, r.stderr)
                name, = os.listdir(self.out)
                got = self.client(name)
                self.assertEqual([plain(m["cmd"], got) for m in got["messages"]], [plain(m["cmd"], want) for m in want["messages"]])
                for a, b in zip(got["messages"], want["messages"]):
                    self.assertEqual(list(a), list(b))
                    if a["cmd"] != "time":
                        self.assertEqual(plain(a["reply"], got), plain(b["reply"], want))
                # keys in their order (v4.1 had no ptd_config in the client's), our own object at the end
                keys = [k for k in got if k != "joulemark"]
                self.assertEqual([k for k in keys if k in want], list(want))
                self.assertEqual(list(got)[-1], "joulemark")
                self.assertEqual(list(got["results"]), list(want["results"]))
                self.assertEqual({m: [len(t) for t in got["phases"][m]] for m in got["phases"]},
                                 {m: [len(t) for t in want["phases"][m]] for m in want["phases"]})
                self.assertEqual(log(os.path.join(self.out, name, "power", "client.log"), got),
                                 log(os.path.join(power, "client.log"), want))
                with open(os.path.join(self.out, name, "power", "client.json"), encoding="utf-8") as f:
                    self.assertEqual(f.read(), json.dumps(got, indent=4))  # as Python writes it
                seen.add(stop)
        self.assertEqual(seen, {False, True})


if __name__ == "__main__":
    tap.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What mlperf check says of the published sessions, against what was found in them by an independent reading of their
logs (grep and numpy over spl.txt, ptd_logs.txt, client.json and server.json)."""
import json
import os
import subprocess
import sys
import unittest

import tap

JOULEMARK = os.environ["JOULEMARK"]
CORPUS = os.path.join(os.environ.get("JM_BUILD", "build"), "corpus", "mlperf")
FAIL_OR_WARN = ("fail", "warning")


class Corpus(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        r = subprocess.run([JOULEMARK, "mlperf", "check", "--json", "--all", CORPUS], capture_output=True,
                           stdin=subprocess.DEVNULL, timeout=120, check=False)
        cls.status = r.returncode
        cls.doc = json.loads(r.stdout)
        cls.sessions = {os.path.basename(s["path"]): s for s in cls.doc["sessions"]}

    def rules(self, name):
        found = [k for k in self.sessions if k.startswith(name)]
        self.assertEqual(len(found), 1, name)
        s = self.sessions[found[0]]
        return s, {r["id"]: r for r in s["rules"]}

    def test_the_over_range_session_passes_there_and_fails_here(self):
        s, r = self.rules("v5.1_GATEOverflow")
        self.assertEqual((s["official"]["verdict"], s["official"]["warnings"], s["verdict"]), ("pass", 1, "fail"))
        self.assertEqual(r["samples.over_range"]["verdict"], "fail")
        self.assertIn("59 of 600 samples in the load window are over range", r["samples.over_range"]["text"])
        self.assertIn('"Current exceeds peak value allowed for range 0.50A and CF 3."', r["ptdlog.errors_load"]["text"])
        self.assertTrue(r["ptdlog.errors_load"]["text"].startswith("59 messages"))
        self.assertEqual(r["ptdlog.uncertainty"]["verdict"], "fail")
        self.assertTrue(r["ptdlog.uncertainty"]["text"].startswith("2 samples"))

    def test_multichannel_uncertainty_is_seen(self):
        s, r = self.rules("v5.1_Lenovo_SR680a_llama2-70b-99_Offline")
        self.assertEqual((s["official"]["verdict"], s["official"]["warnings"]), ("pass", 0))
        self.assertEqual(r["ptdlog.uncertainty"]["verdict"], "fail")
        self.assertIn("(44 messages)", r["ptdlog.uncertainty"]["text"])
        self.assertIn("309 samples above 1 %, as many in the log", r["ptd.uncertainty_reply"]["text"])

    def test_the_director_on_the_system_under_test(self):
        for name in self.sessions:
            if name.startswith("v"):
                _, r = self.rules(name)
                self.assertEqual(r["clock.director"]["verdict"], "warning" if "Lenovo" in name else "pass", name)

    def test_line_ends_are_told_from_changes(self):
        for name in ("v2.0_NVIDIA_XavierNX_3d-unet", "v2.0_NVIDIA_XavierNX_bert"):
            s, r = self.rules(name)
            self.assertEqual(s["official"]["checks"][7]["verdict"], "fail")
            self.assertEqual((r["results.line_ends"]["verdict"], r["results.checksums"]["verdict"]), ("warning", "pass"))
            self.assertIn("ranging/spl.txt (hashed with CRLF), run_1/spl.txt (hashed with CRLF)", r["results.line_ends"]["text"])
            self.assertNotEqual(s["verdict"], "fail")

    def test_single_findings(self):
        for name, rule, verdict, text in (
                ("v1.0_DellEMC", "clock.dst", "warning", "an hour ahead"),
                ("v1.0_Qualcomm", "messages.upload", "note", "2 uploads"),
                ("v2.0_NVIDIA_XavierNX_3d-unet", "samples.missed", "warning", "5 of 14942 samples"),
                ("v2.0_NVIDIA_XavierNX_3d-unet", "ptdlog.missed", "warning", "missed 5 samples"),
                ("v3.0_SiMa", "clock.step", "warning", "+1.250 s during ranging"),
                ("v3.0_SiMa", "ptdlog.uncertainty", "warning", "1 sample is"),
                ("v3.1_cTuning", "samples.frozen", "warning", "598 samples"),
                # the power group's own checker of v3.1 did not have it yet, that of the submissions did
                ("v3.1_cTuning", "sources.server", "pass", "release E"),
                ("v5.1_Lenovo_SR780a_llama3.1-405b", "files.present", "fail", "power/ptd_logs.txt"),
                ("v5.1_Lenovo_SR780a_llama3.1-405b", "ptdlog.errors_load", "absent", "is not there"),
                ("v2.1_Krai", "load.scenario", "note", "MultiStream is claimed, SingleStream ran"),
                ("v2.1_Krai", "ranging.factor", "warning", "0.449")):
            _, r = self.rules(name)
            self.assertEqual(r[rule]["verdict"], verdict, (name, rule, r[rule]["text"]))
            self.assertIn(text, r[rule]["text"])

    def test_what_is_sound_in_all_of_them(self):
        for rule in ("session.uuid", "session.name", "messages.agree", "messages.version", "messages.order", "samples.present",
                     "samples.covers", "samples.order", "samples.marks", "samples.sum", "samples.rate", "load.window",
                     "load.valid", "load.mode", "load.errors", "load.duration", "ptd.version", "ptd.model", "ptd.replies",
                     "ptd.sequence", "ptd.restored", "ptd.build", "ptd.watts_reply", "ptd.uncertainty_reply", "ranging.set",
                     "clock.order", "clock.difference", "clock.ntp", "server.debug", "results.agree", "ptd.simulated"):
            for name in self.sessions:
                if name.startswith("v"):
                    _, r = self.rules(name)
                    self.assertNotIn(r[rule]["verdict"], FAIL_OR_WARN, (name, rule, r[rule]["text"]))

    def test_sum(self):
        self.assertEqual(self.status, 1)
        self.assertEqual(self.doc["summary"]["sessions"], 20)
        self.assertEqual(self.doc["summary"]["official"], {"fail": 4, "pass": 13})
        self.assertEqual(self.doc["summary"]["errors"], 0)


if __name__ == "__main__":
    if not os.path.isdir(CORPUS):
        print("1..0 # SKIP no public test data (make corpus)")
        sys.exit(77)
    tap.main()

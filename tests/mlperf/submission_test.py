#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rules over a submission: trees that are in order, then one thing at a time that is not."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import tap

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import mlperftree  # noqa: E402

DUMP = os.path.join(os.environ["JM_BUILD"], "tests", "mlperf", "submission_dump")


def dump(*paths):
    p = subprocess.run([DUMP, *paths], capture_output=True, text=True, timeout=120)
    if p.returncode:
        raise AssertionError(p.stderr)
    return [json.loads(line) for line in p.stdout.splitlines()]


class Submission(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="submission_test.")
        self.addCleanup(shutil.rmtree, self.dir)

    def tree(self, rnd="v5.1", **how):
        return mlperftree.Tree(os.path.join(self.dir, f"t{len(os.listdir(self.dir))}"), rnd, **how)

    def says(self, session, rule, verdict, word=""):
        """The rule's verdict and a word of its sentence or evidence."""
        got = dump(session.path)[0]["outcomes"].get(rule, ["none", "", ""])
        self.assertEqual(got[0], verdict, (rule, got))
        self.assertIn(word, f"{got[1]} {got[2]}")

    def in_order(self, d):
        bad = {k: v for k, v in d["outcomes"].items() if v[0] in ("warning", "fail")}
        self.assertEqual(bad, {})

    def test_every_round_in_order(self):
        for rnd in mlperftree.ROUNDS:
            with self.subTest(rnd):
                t = self.tree(rnd)
                if rnd >= "v6.1":
                    t.system(system_power_capacity=10800)
                s = [t.result("bert-99", "Offline", seconds=60), t.result("bert-99", "SingleStream", seconds=60, device=77)]
                for d in dump(*[x.path for x in s]):
                    self.assertEqual(d["round"], rnd)
                    self.assertTrue(d["tree"])
                    self.in_order(d)

    def test_flat(self):
        t = self.tree(flat=True)
        s = t.result("llama2-70b-99", "Offline", seconds=60)
        d = dump(s.path)[0]
        self.in_order(d)
        self.assertFalse(d["tree"])
        self.assertEqual(d["system_name"], "ACME box (8x Z1)")
        self.assertEqual(d["outcomes"]["submission.place"][0], "note")
        os.unlink(os.path.join(s.path, "system.json"))
        self.says(s, "submission.description", "note")

    def test_files(self):
        s = self.tree().result("resnet50", "Offline", seconds=60)
        s.put("run_1/ptd_out.txt", "left over")
        self.says(s, "submission.files", "fail", "run_1/ptd_out.txt")
        s.remove("run_1/ptd_out.txt")
        for name in ("run_1/mlperf_log_accuracy.json", "run_1/mlperf_log_trace.json", "ranging/results.json"):
            s.put(name, "[]")  # these may be there
        self.says(s, "submission.files", "pass")
        s.put("power/mlperf_log_accuracy.json", "[]")  # but not there
        self.says(s, "submission.files", "fail", "power/mlperf_log_accuracy.json")
        s.remove("power/mlperf_log_accuracy.json")
        s.put("power/client.log", "")
        self.says(s, "submission.files", "fail", "power/client.log")
        s.remove("power/client.log")
        self.says(s, "submission.files", "fail", "missing: power/client.log")
        os.makedirs(os.path.join(s.path, "performance", "run_2"))
        self.says(s, "submission.runs", "fail", "2 runs")

    def test_power_elsewhere(self):
        t = self.tree()
        s = t.result("resnet50", "Offline", seconds=60)
        self.says(s, "submission.performance_only", "pass")
        t.text("compliance/box/resnet50/Offline/TEST01/performance/run_1/spl.txt", "Time,...\n")
        self.says(s, "submission.performance_only", "fail", "TEST01")
        shutil.rmtree(os.path.join(t.root, "compliance"))
        os.makedirs(os.path.join(s.path, "accuracy", "power"))
        self.says(s, "submission.performance_only", "fail", "accuracy/power")

    def test_description(self):
        t = self.tree()
        s = t.result("resnet50", "Offline", seconds=60)
        t.system(cooling=None)
        self.says(s, "submission.description_fields", "fail", "missing: cooling")
        t.system(cooling="")
        self.says(s, "submission.description_fields", "fail", "empty: cooling")
        t.system(cooling="air", power_management="", disk_drives=None)
        self.says(s, "submission.description_fields", "pass")
        self.says(s, "submission.description_power", "warning", "disk_drives")
        t.system(power_management="x", disk_drives="y", submitter="Other")
        self.says(s, "submission.description_agrees", "fail", "submitter Other")
        t.system(submitter="acme", status="soon")  # letters' case does not matter
        self.says(s, "submission.description_agrees", "fail", "status")
        t.system(status="preview", is_network=True)
        self.says(s, "submission.preview", "note")
        self.says(s, "submission.network", "fail", "closed")
        t.system(is_network=None, number_of_nodes="4", power_supply_details="2 kW, lithium BATTERY shelf")
        self.says(s, "submission.disaggregated", "warning", "4 nodes")
        self.says(s, "submission.battery", "warning")
        with open(os.path.join(t.root, "systems", "box.json"), "w", encoding="utf-8") as f:
            f.write("{ broken")
        self.says(s, "submission.description", "fail", "JSON")
        os.unlink(os.path.join(t.root, "systems", "box.json"))
        self.says(s, "submission.description", "fail", "systems/box.json")

    def test_description_by_round(self):
        t = self.tree("v1.0")  # the fields for power are not asked for yet, nothing has to be filled
        s = t.result("resnet50", "Offline", seconds=60)
        t.system(cooling="", system_type_detail=None, power_management=None)
        d = dump(s.path)[0]["outcomes"]
        self.assertEqual(d["submission.description_fields"][0], "pass")
        self.assertNotIn("submission.description_power", d)
        t = self.tree("v3.1")  # the name of one field changed after this round
        t.system(host_network_card_count=None, host_networking_card_count="1")
        self.says(t.result("resnet50", "Offline", seconds=60), "submission.description_fields", "pass")

    def test_analyzer_table(self):
        t = self.tree(analyzer_table=False, power_settings=False)
        s = t.result("resnet50", "Offline", seconds=60)
        self.says(s, "submission.analyzer_table", "fail", "four folders")
        self.says(s, "submission.power_settings", "fail")
        t.text("power/box_analyzer_table.md", "x")  # as in a v1.1 submission
        self.says(s, "submission.analyzer_table", "fail", "does not look")
        for at in ("measurements", "measurements/box", "measurements/box/resnet50", "measurements/box/resnet50/Offline"):
            path = t.text(at + "/analyzer_table.csv", "vendor,model,firmware,config,interface,wiring/topology,number of channels,"
                          "channels used\nYokogawa,WT-310E,F1.04,single channel,USB,V3A3,1,\"1\"\n")
            self.says(s, "submission.analyzer_table", "pass", at + "/analyzer_table.csv")
            self.says(s, "submission.analyzer_agrees", "pass", "WT-310E")
            os.unlink(path)
        t.text("measurements/analyzer_table.md", "")
        self.says(s, "submission.analyzer_table", "fail", "empty")
        t.text("measurements/analyzer_table.md", "| Vendor | Model | Firmware | Number of channels used |\n|---|---|---|---|\n"
               "| Yokogawa | WT210 | 1.12 | 2 |\n")
        self.says(s, "submission.analyzer_agrees", "warning", "model, firmware and number of channels")
        t.text("measurements/analyzer_table.md", "| Model |\n" * 3 + "|" * 10000 + "\"")
        dump(s.path)  # nothing breaks
        old = self.tree("v2.1", analyzer_table=False)
        self.says(old.result("resnet50", "Offline", seconds=60), "submission.analyzer_table", "warning")

    def test_measurements(self):
        t = self.tree()
        s = t.result("resnet50", "Offline", seconds=60)
        base = os.path.join(t.root, "measurements/box/resnet50/Offline")
        with open(os.path.join(base, "user.conf"), "w", encoding="utf-8") as f:
            f.write("# *.Offline.min_duration = 5\n*.Server.min_duration = 7\nllama3.1-8b.Offline.min_duration = 1200000\n")
        self.says(s, "submission.user_conf", "warning", "1200000 ms")
        os.unlink(os.path.join(base, "user.conf"))
        os.unlink(os.path.join(base, "box_ACME_Offline.json"))
        self.says(s, "submission.measurements", "fail", "user.conf, the description of the implementation")
        shutil.rmtree(base)
        self.says(s, "submission.measurements", "fail", "no folder")

    def test_inferred(self):
        t = self.tree()
        base = t.result("resnet50", "SingleStream", seconds=60)
        start = base.start / 1000
        multi = t.result("resnet50", "MultiStream", run_scenario="SingleStream", seconds=60, start=start)
        offline = t.result("resnet50", "Offline", run_scenario="SingleStream", seconds=60, start=start)
        for s in (multi, offline):
            self.says(s, "submission.inferred", "pass", "SingleStream")
        self.says(base, "submission.inferred", "absent")
        multi.rewrite("run_1/spl.txt", lambda text: text.replace(",Watts,5", ",Watts,4"))
        self.says(multi, "submission.inferred", "fail", "another run")
        other = t.result("resnet50", "Offline", run_scenario="SingleStream", seconds=60, start=start + 7200)
        self.says(other, "submission.inferred", "fail", "another run")
        shutil.rmtree(base.path)
        self.says(offline, "submission.inferred", "note", "not here")
        self.says(t.result("bert-99", "Server", run_scenario="Offline", seconds=60), "submission.inferred", "fail", "may not")
        self.says(t.result("llama2-70b-99", "Interactive", run_scenario="Server", seconds=60), "submission.inferred", "absent")
        old = self.tree("v1.1").result("resnet50", "MultiStream", run_scenario="SingleStream", seconds=60)
        self.says(old, "submission.inferred", "fail", "in this round")

    @unittest.skipIf(os.environ.get("JM_HAVE_YAML") == "0", "built without YAML")
    def test_nameplate(self):
        def plate(text):
            path = os.path.join(self.dir, "p.yaml")
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
            return dump("--nameplate", path)[0]["nameplate"]

        # the template of mlcommons/inference tools/submission/submission_structure.md: one of two in each of two components
        two = "      PSUs:\n      - Name: PSU 1\n        PowerCapacityWatts: 1200\n      - Name: PSU 2\n        PowerCapacityWatts: %s\n"
        text = ("My System:\n- My Rack 1:\n  - My Server 1:\n    - Description: 'Optional Description'\n      Min PSUs Needed: 1\n"
                + two % 1300 + "  - My Switch 1:\n    - Description: 'Optional Description'\n      Min PSUs needed: 2\n" + two % 1100)
        p = plate(text)
        self.assertEqual((p["watts"], p["published"], p["components"], p["redundant"], p["error"]),
                         (1300 + 1200 + 1100, 3600, 2, 1, None))
        p = plate(text.replace("1100", "none"))  # the public checker takes 0; here it is not known
        self.assertEqual((p["watts"], p["published"]), (None, 1300 + 1200))
        self.assertIn("My Switch 1", p["error"])
        p = plate(text.replace("needed: 2", "needed: 3"))
        self.assertEqual((p["watts"], p["published"]), (None, 3600))
        for bad in ("", "a: &x 1\nb: *x\n", "a: 1\n---\nb: 2\n", "- [" * 60, "x: y", "{a: b", "PSUs: 3\nMin PSUs Needed: 1\n",
                    "a:\n  PSUs: []\n", "? [1, 2]\n: 3\n", "\t- x", "Min PSUs Needed: 1"):
            p = plate(bad)
            self.assertTrue(p["present"] and p["error"], (bad, p))
            self.assertIsNone(p["watts"], bad)

    @unittest.skipIf(os.environ.get("JM_HAVE_YAML") == "0", "built without YAML")
    def test_nameplate_in_a_submission(self):
        t = self.tree("v6.1")
        s = t.result("llama2-70b-99", "Offline", seconds=60, watts=500)
        self.says(s, "nameplate.declared", "warning", "not declared")
        t.nameplate("box:\n- a:\n  Min PSUs Needed: 1\n  PSUs:\n  - PowerCapacityWatts: 400\n  - PowerCapacityWatts: 300\n")
        self.says(s, "nameplate.declared", "pass", "Declared, not measured: 400 W")
        self.says(s, "nameplate.plausible", "warning", "more than the 400 W")
        self.says(s, "nameplate.messaging", "note", "never")
        t.system(system_power_capacity="2.4 kW")  # the field comes first
        self.says(s, "nameplate.declared", "pass", "2400 W")
        self.says(s, "nameplate.plausible", "pass", "20.8 %")
        t.system(system_power_capacity="much")
        self.says(s, "nameplate.readable", "fail")
        self.assertIsNone(dump(s.path)[0]["nameplate"]["watts"])

    def test_figures(self):
        t = self.tree()
        s = t.result("resnet50", "Offline", seconds=60, watts=500, rate=100)  # 100 samples/s at 500 W
        self.says(s, "audit.figures", "note", "qps_per_watt 0.2.")
        self.says(s, "audit.window", "pass", "60.000 s")
        s.rewrite("run_1/mlperf_log_detail.txt", lambda x: x.replace('"result_samples_per_second", "value": 100.0',
                                                                     '"result_samples_per_second", "value": 103.0'))
        self.says(s, "audit.window", "warning", "+3.00 %")

    def test_audit_of_two_runs(self):
        t = self.tree()
        a = t.result("resnet50", "Offline", seconds=60, watts=500)
        b = self.tree().result("resnet50", "Offline", seconds=60, watts=505)
        c = self.tree().result("resnet50", "Offline", seconds=60, watts=515)
        other = self.tree().result("resnet50", "SingleStream", seconds=60)
        out = dump("--audit", a.path, b.path, "--audit", a.path, c.path, "--audit", a.path, other.path)
        self.assertEqual([d["outcomes"]["audit.reproduction"][0] for d in out], ["pass", "fail", "note"])
        self.assertIn("+1.00 %", out[0]["outcomes"]["audit.reproduction"][1])
        self.assertIn("+3.00 %", out[1]["outcomes"]["audit.reproduction"][1])
        self.assertIn("within the 10 %", out[0]["outcomes"]["audit.exempt"][1])


if __name__ == "__main__":
    tap.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""joulemark mlperf check as a command: its forms, its statuses, what it makes of damaged files. The rules themselves:
tests/mlperf/check_rules_test.py; the official checker against its own logs: tests/mlperf/official_corpus_test.c."""
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import mlperftree
import tap

JOULEMARK = os.environ["JOULEMARK"]


def run(*args, env=None):
    return subprocess.run([JOULEMARK, "mlperf", "check", *args], capture_output=True, stdin=subprocess.DEVNULL, timeout=120,
                          env={**os.environ, **(env or {})}, check=False)


class Check(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.mkdtemp(prefix="mlperf-check.")
        cls.addClassCleanup(shutil.rmtree, cls.dir)
        tree = mlperftree.Tree(os.path.join(cls.dir, "round"), round="v5.1")
        cls.good = tree.result("llama2-70b-99", "Offline", watts=5000, seconds=601, device=77)
        cls.over = tree.result("resnet50", "Offline", watts=40, seconds=600, overrange=tuple(range(10, 69)))
        tree.system()
        cls.tree = os.path.join(cls.dir, "round")

    def test_text_has_80_columns_and_colour_only_on_request(self):
        for args in ([self.over.path], ["--all", self.over.path], [self.tree], ["--all", "--ascii", self.good.path]):
            r = run(*args)
            out = r.stdout.decode()
            self.assertTrue(all(len(line) <= 80 or " " not in line.strip() for line in out.split("\n")),
                            [line for line in out.split("\n") if len(line) > 80])
            self.assertNotIn("\033", out)
        self.assertTrue(run("--ascii", "--all", self.good.path).stdout.decode().isascii())
        self.assertIn(b"\033[1;31m", run("--color=always", self.over.path).stdout)
        self.assertNotIn(b"\033", run("--color=auto", self.over.path, env={"NO_COLOR": "1"}).stdout)

    def test_fails_first_with_official_beside(self):
        r = run(self.over.path)
        out = r.stdout.decode()
        self.assertEqual(r.returncode, 1)
        self.assertRegex(out, r"official +pass")
        self.assertRegex(out, r"ours +FAIL")
        self.assertRegex(out, r"FAIL +samples.over_range +59 of 600 samples in the load window\s+are\s+over\s+range")
        self.assertLess(out.index("Fails"), out.index("Notes"))
        self.assertNotIn("Passes", out)
        self.assertIn("Passes", run("--all", self.over.path).stdout.decode())

    def test_status(self):
        self.assertEqual(run(self.over.path).returncode, 1)
        self.assertEqual(run("--official", self.over.path).returncode, 0)
        self.assertEqual(run("--official", "--revision=inf_v4.1", self.over.path).returncode, 1)
        self.assertEqual(run().returncode, 2)
        self.assertEqual(run("--revision=r9.9", self.over.path).returncode, 2)
        r = run(os.path.join(self.dir, "nothing"))
        self.assertEqual(r.returncode, 4)
        self.assertIn(b"nothing", r.stderr)
        os.makedirs(os.path.join(self.dir, "empty"), exist_ok=True)
        self.assertEqual(run(os.path.join(self.dir, "empty")).returncode, 4)
        with open("/dev/full", "w", encoding="utf-8") as full:
            r = subprocess.run([JOULEMARK, "mlperf", "check", self.good.path], stdout=full, stderr=subprocess.PIPE,
                               stdin=subprocess.DEVNULL, timeout=60, check=False)
        self.assertEqual(r.returncode, 4)

    def test_json(self):  # schema_test.py holds it to its schema
        doc = json.loads(run("--json", self.tree).stdout)
        self.assertEqual(doc["summary"]["sessions"], 2)
        self.assertEqual(doc["summary"]["official"], {"fail": 0, "pass": 2})
        self.assertEqual(doc["summary"]["verdict"]["fail"], 1)
        over = [s for s in doc["sessions"] if "resnet50" in s["path"]][0]
        self.assertEqual(over["rules"][0]["id"], "samples.over_range")
        self.assertTrue(all(r["verdict"] in ("fail", "warning", "note") for r in over["rules"]))
        self.assertGreater(over["counts"]["pass"], 50)

    def test_official_is_the_public_tools_own_form(self):
        out = run("--official", self.good.path).stdout.decode()
        self.assertEqual(len(re.findall(r"^INFO:main:\[x\] Check ", out, re.M)), 11)
        self.assertTrue(out.endswith("INFO:main:\nAll checks passed\n"))
        old = run("--official", "--revision=r3.0", self.good.path).stdout.decode()
        self.assertIn("\n[ ] Check PTD commands and replies\n\tPTD version '1.11.1' is not supported. "
                      "Supported versions are 1.10.0\n", old)
        self.assertTrue(old.endswith("\nERROR: Not all checks passed\n"))

    def test_the_page_is_self_contained(self):
        page = os.path.join(self.dir, "out", "check.html")
        self.assertEqual(run("--html", page, self.tree).returncode, 1)
        with open(page, encoding="utf-8") as f:
            html = f.read()
        self.assertNotRegex(html, r"""(src|href)=['"](?!data:|#)""")
        self.assertNotIn("<script", html)
        self.assertIn("Content-Security-Policy", html)
        self.assertIn("prefers-color-scheme:dark", html)
        self.assertIn("samples.over_range", html)
        self.assertEqual(html.count("<section class='session'"), 2)

    def test_foreign_text_cannot_move_the_cursor_nor_become_markup(self):
        tree = mlperftree.Tree(os.path.join(self.dir, "evil"), round="v5.1")
        s = tree.result("resnet50", "Offline", watts=50, seconds=600)
        s.server["ptd_messages"][1]["reply"] = "\x1b[2J<script>alert(1)</script>\u202e,version=\x07-,"
        s.server["messages"][3]["reply"] = "\x1b]0;x\x07"
        s.seal()
        page = os.path.join(self.dir, "evil.html")
        out = run("--all", "--html", page, s.path).stdout
        self.assertNotIn(b"\x1b", out)
        self.assertNotIn(b"\x07", out)
        self.assertNotIn("\u202e".encode(), out)
        with open(page, encoding="utf-8") as f:
            self.assertNotIn("<script", f.read())
        json.loads(run("--json", s.path).stdout)

    def damaged(self, name, rel, data):
        tree = mlperftree.Tree(os.path.join(self.dir, name), round="v5.1")
        s = tree.result("resnet50", "Offline", watts=50, seconds=60)
        s.put(rel, data)
        r = run("--json", "--all", s.path)
        self.assertEqual(r.returncode, 1, r.stderr)
        return json.loads(r.stdout)["sessions"][0]

    def test_damaged_files_fail_and_nothing_else(self):
        deep = b"[" * 100000
        for i, data in enumerate((b"", b"{", b"null", b"[]", b'"x"', deep, b"\xff\xfe\x00", b'{"version": NaN}',
                                  b'{"results": {"a": 1e999}}', b"{}", b"\x00" * 5000)):
            for rel in ("power/server.json", "power/client.json"):
                with self.subTest(rel=rel, data=data[:20]):
                    got = self.damaged(f"json{i}{rel[6]}", rel, data)
                    self.assertEqual(got["official"]["verdict"], "fail")
                    self.assertEqual({c["verdict"] for c in got["official"]["checks"]}, {"absent"})
                    self.assertEqual(got["verdict"], "fail")
        for i, data in enumerate((b"", b"\x00" * 9000, b"\xff" * 9000, b"Time,", b"x" * 3000000, b"\r\r\r\n\n",
                                  b"07-12-2025 23:21:37.443: ERROR: \n" * 3)):
            for rel in ("power/ptd_logs.txt", "run_1/spl.txt", "run_1/mlperf_log_detail.txt", "ranging/spl.txt"):
                with self.subTest(rel=rel, data=data[:20]):
                    got = self.damaged(f"log{i}" + rel.replace("/", "_"), rel, data)
                    self.assertEqual(got["official"]["verdict"], "fail")

    def test_values_of_other_types_are_exceptions_of_the_public_tool(self):
        tree = mlperftree.Tree(os.path.join(self.dir, "types"), round="v5.1")
        s = tree.result("resnet50", "Offline", watts=50, seconds=600)
        original = json.dumps(s.server)
        for key, value, number, text in (
                ("uuid", "x", 4, "TypeError"), ("uuid", {}, 4, "KeyError: 'client'"),
                ("phases", {"ranging": []}, 6, "KeyError: 'testing'"), ("messages", [], 7, "Client commands list length"),
                ("ptd_messages", [], 3, "There is no answer to the 'Identify' command for PTD."),
                ("ptd_config", {"device_type": 49}, 10, "TypeError: string indices must be integers, not 'str'"),
                ("ptd_config", [{"device_type": 7}], 10, "Device number 7 is not supported."),
                ("results", [], 8, "AttributeError"), ("debug", None, 11, "Server was running in debug mode"),
                ("session_name", 7, 5, "Session name is not equal. Client session name is '")):
            with self.subTest(key=key, value=value):
                s.server = json.loads(original)
                s.server[key] = value
                s.seal()
                got = json.loads(run("--json", s.path).stdout)["sessions"][0]
                check = got["official"]["checks"][number - 1]
                self.assertEqual(check["verdict"], "fail")
                self.assertIn(text, check["text"])


class Official(unittest.TestCase):
    """The official checker's own errors, each shown on a session where it errs."""

    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.mkdtemp(prefix="mlperf-official.")
        cls.addClassCleanup(shutil.rmtree, cls.dir)
        cls.n = 0

    def session(self, rnd="v5.1", **how):
        type(self).n += 1
        tree = mlperftree.Tree(os.path.join(self.dir, f"s{self.n}"), round=rnd)
        return tree.result("resnet50", "Offline", **{"watts": 500, "seconds": 600, "accuracy": False, **how})

    def checks(self, s, *args):
        return json.loads(run("--json", *args, s.path).stdout)["sessions"][0]["official"]["checks"]

    def log(self, s, lines):
        """Lines of (ms, text) at their place in ptd_logs.txt."""
        def act(t):
            rows = t.split("\n")
            for ms, line in lines:
                rows.append(f"{mlperftree.stamp(ms)}: {line}")
            return "\n".join(rows) + "\n"
        s.rewrite("power/ptd_logs.txt", act)

    def test_a_warning_hides_the_error_behind_it(self):
        s = self.session()
        p = s.plan()
        late = (p["testing"]["load"] + 300000, "ERROR: Current exceeds peak value allowed for range 0.50A and CF 3.")
        self.log(s, [late])
        c = self.checks(s)[8]
        self.assertEqual(c["verdict"], "fail")
        self.assertEqual(c["text"], f"'{mlperftree.stamp(late[0])}: {late[1]}' in ptd_log.txt")
        s = self.session()
        self.log(s, [(p["ranging"]["go"] + 5000, "ERROR: Something uncommon"), late])
        c = self.checks(s)[8]
        self.assertEqual(c["verdict"], "warning")
        self.assertEqual(c["text"], f"'{mlperftree.stamp(p['ranging']['go'] + 5000)}: Warning: Something uncommon' in "
                                    "ptd_log.txt during ranging stage. Treated as WARNING")

    def test_the_tolerance_of_800_ms_is_taken_as_800_s(self):
        line = "WARNING: Uncertainty 1.09%, which is above 1.00% limit for the last sample!"
        s = self.session()
        self.log(s, [(s.plan()["testing"]["load"] + 300000, line)])
        self.assertEqual(self.checks(s)[8]["verdict"], "pass")
        s = self.session(seconds=1700)  # 800 s from both ends leave 100 s in the middle
        self.log(s, [(s.plan()["testing"]["load"] + 850000, line)])
        c = self.checks(s)[8]
        self.assertEqual(c["verdict"], "fail")
        self.assertIn("' during testing phase. Test start time: ", c["text"])
        # 1.11 names the channel of a multichannel analyzer: not matched, so a warning
        s = self.session(seconds=1700)
        self.log(s, [(s.plan()["testing"]["load"] + 850000, line.replace("sample!", "sample, logical channel 2!"))])
        self.assertEqual(self.checks(s)[8]["verdict"], "warning")
        # before the rule became a failure it was a warning, and nothing was cut off
        s = self.session("v3.0")
        self.log(s, [(s.plan()["testing"]["load"] + 300000, line)])
        self.assertEqual(self.checks(s)[8]["verdict"], "warning")

    def test_two_analyzers_break_the_rule_of_the_third_stop(self):
        s = self.session()
        s.server["ptd_messages"] = s.server["ptd_messages"] * 2
        s.server["ptd_config"] = s.server["ptd_config"] * 2
        s.seal()
        c = self.checks(s)[2]
        self.assertEqual(c["verdict"], "fail")
        self.assertEqual(c["text"], "Wrong reply for 'Stop' command. Expected 'Error: no measurement to stop', but got "
                                    "'Stopping untimed measurement'")
        ours = json.loads(run("--json", "--all", s.path).stdout)["sessions"][0]["rules"]
        self.assertEqual([r["verdict"] for r in ours if r["id"] == "ptd.replies"], ["pass"])
        self.assertEqual([r["verdict"] for r in ours if r["id"] == "ptd.sequence"], ["pass"])

    def test_an_hour_passes(self):
        s = self.session()
        for side in (s.client, s.server):
            for mode in side["phases"].values():
                for p in mode:
                    p[0] -= 3600
        s.seal()
        self.assertEqual(self.checks(s)[5]["verdict"], "pass")
        for side in (s.client, s.server):
            for mode in side["phases"].values():
                for p in mode:
                    p[0] -= 3600
        s.seal()
        self.assertEqual(self.checks(s)[5]["text"], "Loadgen test begin time is not within ranging mode time interval.")

    def test_five_percent_of_power(self):
        # 475 / 500 - 1 = -5.00 %: just not allowed; two decimals decide
        for factor, verdict in ((0.95, "fail"), (0.9501, "pass")):
            s = self.session(samples=[500.0] * 600)
            s.rewrite("run_1/spl.txt", lambda t, f=factor: t.replace("Watts,500.000000", f"Watts,{500 * f:.6f}"))
            c = self.checks(s)[5]
            self.assertEqual(c["verdict"], verdict)
            if verdict == "fail":
                self.assertEqual(c["text"], "Average power during the testing mode run is lower than that during the ranging run "
                                 "by more than 5%. Observed delta is -5.0% with avg. ranging power 500.0, avg.testing power 475.0, "
                                 "avg. ranging power factor 0.97 and avg. testing power factor 0.97")
        # the duration warning comes before and hides it
        s = self.session(samples=[500.0] * 600)
        p = s.plan()["ranging"]
        s.rewrite("run_1/spl.txt", lambda t: t.replace("Watts,500.000000", "Watts,100.000000"))
        begin, end = mlperftree.stamp(s.plan()["testing"]["load"]), mlperftree.stamp(s.plan()["testing"]["end"])
        s.rewrite("run_1/mlperf_log_detail.txt", lambda t: t.replace(end, mlperftree.stamp(s.plan()["testing"]["load"] + 240000)))
        c = self.checks(s)[5]
        self.assertEqual((c["verdict"], c["text"]), (
            "warning", "Duration of the testing mode (240.0) is lower than that of ranging mode (600.0) by 60.0 percent which is "
            "more than the expected 5 percent limit."))
        self.assertEqual(self.checks(s, "--revision=r3.0")[5]["verdict"], "fail")
        self.assertTrue(begin < end and p)

    def test_tolerances_by_revision(self):
        for offset, passes in ((0.19, ("r2.0", "r2.1", "f59033d", "inf_v4.1")), (0.45, ("r2.1", "f59033d", "inf_v4.1")), (0.79, ("inf_v4.1",)),
                               (0.81, ())):
            s = self.session("v3.1", director_offset=offset)
            for rev in ("r2.0", "r2.1", "f59033d", "inf_v4.1"):
                self.assertEqual(self.checks(s, "--revision", rev)[5]["verdict"], "pass" if rev in passes else "fail",
                                 (offset, rev))
        text = self.checks(s, "--revision=inf_v4.1")[5]["text"]
        self.assertRegex(text, r"^The time difference for 1 phase of ranging mode is more than 800ms\.Observed difference is "
                               r"810\.\d+ms$")

    def test_a_blank_line_of_spl_is_an_exception_of_v3_1(self):
        s = self.session("v3.1")
        self.assertEqual(self.checks(s)[5]["verdict"], "pass")
        s.rewrite("run_1/spl.txt", lambda t: t + "\n")
        self.assertEqual(self.checks(s)[5]["text"], "IndexError: list index out of range")
        self.assertEqual(self.checks(s, "--revision=inf_v4.1")[5]["verdict"], "pass")

    def test_the_first_errors_words(self):
        s = self.session()
        self.log(s, [(s.plan()["testing"]["load"], "ERROR: USB.")])
        c = self.checks(s)[8]
        self.assertEqual(c["verdict"], "warning")
        self.assertTrue(c["text"].endswith("Warning: USB.' in ptd_log.txt during testing stage but it is accepted. Treated as "
                                           "WARNING"))
        s = self.session()
        s.rewrite("power/ptd_logs.txt", lambda t: t + "no stamp here ERROR: lost\n")
        self.assertTrue(self.checks(s)[8]["text"].startswith("LineWithoutTimeStamp: 'no stamp here ERROR: lost' in "))
        s = self.session()
        s.rewrite("power/ptd_logs.txt", lambda t: t.replace("Completed test", "Aborted"))
        self.assertEqual(self.checks(s)[8]["text"], "Can not find ranging time in ptd_logs.txt.")


if __name__ == "__main__":
    tap.main()

# SPDX-License-Identifier: Apache-2.0
"""tools/count-tests: the closing line of `make check` and its exit status."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

import tap

TOOL = os.path.join(os.environ["JM_SOURCE"], "tools", "count-tests")


class Count(unittest.TestCase):
    def count(self, *tests):
        with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as log:
            for name, result, stdout in tests:
                log.write(json.dumps({"name": name, "result": result, "stdout": stdout}) + "\n")
            log.flush()
            done = subprocess.run([sys.executable, TOOL, log.name], stdout=subprocess.PIPE, encoding="utf-8", check=False)
        return done.returncode, done.stdout.splitlines()

    def test_cases_are_counted_not_programs(self):
        status, out = self.count(("a", "OK", "ok 1 - x\nok 2 - y # SKIP no\n1..2"), ("b", "OK", "ok 1 - z\n1..1"))
        self.assertEqual((status, out), (0, ["2 passed, 0 failed, 1 skipped"]))

    def test_a_failed_case_is_named(self):
        status, out = self.count(("a", "FAIL", "ok 1 - x\nnot ok 2 - y\n1..2"))
        self.assertEqual((status, out), (1, ["failed: a: y", "1 passed, 1 failed, 0 skipped"]))

    def test_a_time_out_is_a_failure_beside_what_passed(self):
        status, out = self.count(("a", "TIMEOUT", "ok 1 - x\n"))
        self.assertEqual((status, out), (1, ["failed: a: timeout", "1 passed, 1 failed, 0 skipped"]))

    def test_a_program_that_said_nothing(self):
        self.assertEqual(self.count(("a", "OK", None)), (0, ["1 passed, 0 failed, 0 skipped"]))
        self.assertEqual(self.count(("a", "ERROR", ""))[0], 1)

    def test_a_skipped_program(self):
        status, out = self.count(("a", "SKIP", "1..0 # SKIP no corpus"), ("b", "OK", "ok 1 - x\n1..1"))
        self.assertEqual((status, out), (0, ["1 passed, 0 failed, 1 skipped"]))

    @staticmethod
    def log(path, *tests):
        with open(path, "w", encoding="utf-8") as f:
            for name, result, stdout, stderr in tests:
                f.write(json.dumps({"name": name, "result": result, "stdout": stdout, "stderr": stderr}) + "\n")

    @staticmethod
    def run_tool(*args):
        done = subprocess.run([sys.executable, TOOL, *args], stdout=subprocess.PIPE, encoding="utf-8", check=False)
        return done.returncode, done.stdout.splitlines()

    def test_what_failed_beside_others_may_pass_alone_and_is_told(self):
        with tempfile.TemporaryDirectory() as d:
            first, again = os.path.join(d, "first"), os.path.join(d, "again")
            self.log(first, ("s / a", "OK", "ok 1 - x\n1..1", ""), ("s / b", "FAIL", "ok 1 - y\nnot ok 2 - z\n1..2", ""),
                     ("s / c", "TIMEOUT", "ok 1 - u\n", ""))
            self.assertEqual(self.run_tool("--failed", first), (0, ["b", "c"]))
            self.log(again, ("s / b", "OK", "ok 1 - y\nok 2 - z\n1..2", ""), ("s / c", "FAIL", "not ok 1 - u\n1..1", ""))
            self.assertEqual(self.run_tool(first, "--again", again),
                             (1, ["failed beside others, passed alone: b: z", "failed: c: u",
                                  "3 passed, 1 failed, 0 skipped"]))

    def test_why_it_failed(self):
        """The last lines of what a failed case said, of both runs."""
        with tempfile.TemporaryDirectory() as d:
            first, again = os.path.join(d, "first"), os.path.join(d, "again")
            said = "".join(f"# line {i}\n" for i in range(9))
            self.log(first, ("a", "FAIL", "ok 1 - x\n# of x\nnot ok 2 - y\n" + said + "1..2", ""))
            self.log(again, ("a", "FAIL", "ok 1 - x\nnot ok 2 - y\n# 1 != 2\n1..2", ""))
            last = [f"    # line {i}" for i in range(3, 9)]
            self.assertEqual(self.run_tool(first), (1, ["failed: a: y", *last, "1 passed, 1 failed, 0 skipped"]))
            self.assertEqual(self.run_tool(first, "--again", again),
                             (1, ["failed: a: y", "    # 1 != 2", "  before, beside others:", *last,
                                  "1 passed, 1 failed, 0 skipped"]))

    def test_what_is_never_run_again(self):
        with tempfile.TemporaryDirectory() as d:
            log = os.path.join(d, "log")
            self.log(log, ("a", "FAIL", "not ok 1 - x\n", ""), ("b", "FAIL", "not ok 1 - y\n", "WARNING: ThreadSanitizer: data race"))
            self.assertEqual(self.run_tool("--failed", log), (0, []))
            self.log(log, *(("t%d" % i, "FAIL", "not ok 1 - x\n", "") for i in range(7)))
            self.assertEqual(self.run_tool("--failed", log), (0, []))

    def test_nothing_run_is_no_success(self):
        status, out = self.count()
        self.assertEqual((status, out[-1]), (1, "0 passed, 0 failed, 0 skipped"))
        self.assertEqual(self.count(("a", "SKIP", "1..0 # SKIP x"))[0], 1)


if __name__ == "__main__":
    tap.main()

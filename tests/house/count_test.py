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

    def test_nothing_run_is_no_success(self):
        status, out = self.count()
        self.assertEqual((status, out[-1]), (1, "0 passed, 0 failed, 0 skipped"))
        self.assertEqual(self.count(("a", "SKIP", "1..0 # SKIP x"))[0], 1)


if __name__ == "__main__":
    tap.main()

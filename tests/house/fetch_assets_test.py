# SPDX-License-Identifier: Apache-2.0
"""web/fetch-assets without npm, with an npm that fails, and with one that works; and what the lock file pins."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

import tap

WEB = os.path.join(os.environ["JM_SOURCE"], "web")
NAMES = ("uplot.js", "uplot.css", "uplot.license")


class FetchAssets(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)

    def npm(self, script):
        path = os.path.join(self.dir.name, "npm-stand-in")
        with open(path, "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\n" + script)
        os.chmod(path, 0o755)
        return path

    def run_it(self, npm, need):
        return subprocess.run([sys.executable, os.path.join(WEB, "fetch-assets"), npm, need, WEB, self.dir.name],
                              stderr=subprocess.PIPE, encoding="utf-8", check=False)

    def sizes(self):
        return [os.path.getsize(os.path.join(self.dir.name, name)) for name in NAMES]

    def test_without_npm_the_files_are_empty(self):
        done = self.run_it("", "optional")
        self.assertEqual((done.returncode, self.sizes(), done.stderr), (0, [0, 0, 0], ""))

    def test_a_failing_npm_is_said_and_the_files_are_empty(self):
        done = self.run_it(self.npm("echo no registry; exit 1"), "optional")
        self.assertEqual((done.returncode, self.sizes()), (0, [0, 0, 0]))
        self.assertIn("no registry", done.stderr)

    def test_a_failing_npm_is_an_error_where_it_is_needed(self):
        self.assertEqual(self.run_it(self.npm("exit 1"), "needed").returncode, 1)

    def test_an_incomplete_package_leaves_no_half(self):
        script = "mkdir -p node_modules/uplot/dist; echo x > node_modules/uplot/dist/uPlot.iife.min.js"
        self.assertEqual((self.run_it(self.npm(script), "optional").returncode, self.sizes()), (0, [0, 0, 0]))

    def test_a_script_that_would_end_its_element_is_refused(self):
        script = ("mkdir -p node_modules/uplot/dist; cd node_modules/uplot; touch LICENSE dist/uPlot.min.css;"
                  "echo '</SCRIPT>' > dist/uPlot.iife.min.js")
        self.assertEqual((self.run_it(self.npm(script), "optional").returncode, self.sizes()), (0, [0, 0, 0]))

    def test_the_lock_file_pins_by_hash_and_names_no_host(self):
        with open(os.path.join(WEB, "package-lock.json"), encoding="utf-8") as f:
            text = f.read()
        self.assertNotIn("://", text)
        self.assertNotIn("resolved", text)
        for name, package in json.loads(text)["packages"].items():
            if name:
                self.assertTrue(package["integrity"].startswith("sha512-"), name)


if __name__ == "__main__":
    tap.main()

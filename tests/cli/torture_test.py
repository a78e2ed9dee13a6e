#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each command again with the n-th allocation, write, read, open or dlopen failing.

Whatever fails, a command ends with one of its statuses, not with a signal; it says something when it fails; and when it
says that it succeeded, standard output and files are what they are without a failure. Small counts are tried for every
n, large ones at places spread over all.
"""
import functools
import glob
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import mlperftree
import tap

JOULEMARK = os.environ["JOULEMARK"]
BUILD = os.environ["JM_BUILD"]
PLACES = int(os.environ.get("JM_TORTURE_PLACES", "60"))


@functools.cache  # the build folder may hold whole Python environments
def preload():
    found = glob.glob(os.path.join(BUILD, "**", "libfail.so"), recursive=True) or glob.glob(os.path.join(BUILD, "libfail.so"))
    return found[0] if found else None


class Torture(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="torture.")
        self.addCleanup(shutil.rmtree, self.dir)

    def once(self, args, fail):
        count = os.path.join(self.dir, "count")
        for path in glob.glob(os.path.join(self.dir, "out*")):
            shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
        env = dict(os.environ, LD_PRELOAD=preload(), JM_FAIL=fail, JM_FAIL_COUNT=count)
        r = subprocess.run([JOULEMARK, *args], capture_output=True, env=env, stdin=subprocess.DEVNULL, timeout=60)
        try:
            with open(count, encoding="ascii") as f:
                n = int(f.read())
            os.remove(count)
        except FileNotFoundError:
            n = None
        return r, n

    def outputs(self):
        found = {}
        for path in sorted(glob.glob(os.path.join(self.dir, "out*"))):
            with open(path, "rb") as f:
                found[os.path.basename(path)] = f.read()
        return found

    def torture(self, *args, kinds=("alloc", "write", "read", "open", "dlopen", "fsync"), same_files=True,
                same_out=True, ok=(0,), own=(4,)):
        for kind in kinds:
            good, total = self.once(args, kind + ":0")
            files = self.outputs()
            self.assertIn(good.returncode, ok, good.stderr)
            step = max(1, total // PLACES)
            for n in range(1, total + 1, step):
                for more in ("", "+"):
                    r, _ = self.once(args, f"{kind}:{n}{more}")
                    where = f"{' '.join(args)}: {kind} {n}{more} of {total}: status {r.returncode}, {r.stderr[-300:]!r}"
                    self.assertIn(r.returncode, (*ok, *own), where)
                    if r.returncode in own:
                        self.assertTrue(r.stderr.startswith(b"joulemark"), where)
                    else:
                        if same_out:
                            self.assertTrue(r.stdout == good.stdout, where)  # assertEqual would compare them for minutes
                        if same_files:
                            self.assertTrue(self.outputs() == files, where)

    def test_help(self):
        self.torture("help", "mark")

    def test_man_page(self):
        self.torture("help", "--man")

    def test_version(self):
        self.torture("version", "--json")

    def test_configuration(self):
        path = os.path.join(self.dir, "plan.yaml")
        with open(path, "w", encoding="utf-8") as f:
            f.write("json: true\ncolor: never\nverbose: false\n")
        if b'"yaml": true' not in subprocess.run([JOULEMARK, "version", "--json"], capture_output=True).stdout:
            self.skipTest("built without libyaml")
        self.torture("version", "--config", path)

    def run_file(self):
        folder = os.path.join(BUILD, "corpus", "mlperf")
        sessions = sorted(glob.glob(os.path.join(folder, "*", "performance")), key=lambda p: sum(
            os.path.getsize(os.path.join(d, f)) for d, _, fs in os.walk(p) for f in fs))
        if not sessions:
            self.skipTest("the public data are not unpacked (make corpus)")
        path = os.path.join(self.dir, "run.jmr")
        session = os.path.dirname(sessions[0])
        subprocess.run([JOULEMARK, "import", session, "-o", path], check=True, stdout=subprocess.DEVNULL)
        return session, path

    def test_show(self):
        _, path = self.run_file()
        for extra in ([], ["--json"], ["--format", "csv"], ["--format", "markdown"]):
            self.torture("show", path, *extra, ok=(0, 3))

    def test_report(self):
        _, path = self.run_file()
        self.torture("report", path, "-o", os.path.join(self.dir, "out.html"), ok=(0, 3))

    def test_compare(self):
        a, b, contract = (os.path.join(os.environ["JM_SOURCE"], "examples", n) for n in ("a.jmr", "b.jmr", "contract.yaml"))
        if b'"yaml": true' not in subprocess.run([JOULEMARK, "version", "--json"], capture_output=True).stdout:
            self.skipTest("built without libyaml")
        self.torture("compare", a, b, "--contract", contract, kinds=("alloc",))

    def test_import(self):
        session, _ = self.run_file()
        self.torture("import", session, "-o", os.path.join(self.dir, "out.jmr"), same_files=False)

    def test_meters(self):
        """A meter that cannot be opened is a row with its reason, so that the output may differ."""
        tree = os.path.join(self.dir, "sys")
        for path, text in (("powercap/intel-rapl:0/name", "package-0"), ("powercap/intel-rapl:0/energy_uj", "5"),
                           ("hwmon/hwmon0/name", "amdgpu"), ("hwmon/hwmon0/power1_average", "31000000")):
            full = os.path.join(tree, "class", path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "w", encoding="ascii") as f:
                f.write(text + "\n")
        self.torture("meters", "--no-measure", "--json", "--sysfs-root", tree, same_out=False,
                     kinds=("alloc", "read", "open", "dlopen"))

    def test_run(self):
        nothing = ["--sysfs-root", "/nonexistent", "--proc-root", "/nonexistent", "--dev-root", "/nonexistent", "--nvml-lib",
                   "/nonexistent"]
        self.torture("run", "-q", "--no-summary", "-o", os.path.join(self.dir, "out.jmr"), *nothing, "--", "true",
                     same_files=False, own=(4, 125), ok=(0, 126, 127))

    def test_export(self):
        _, path = self.run_file()
        self.torture("export", path, "-o", os.path.join(self.dir, "out.json"), "--json")

    def test_mlperf(self):
        """What cannot be opened or read is a row with its reason, so that the output may differ then."""
        top = os.path.join(self.dir, "tree")
        tree = mlperftree.Tree(top, round="v5.1")
        s = tree.result("resnet50", "Offline", watts=100, seconds=5)
        with open(os.path.join(top, "summary.csv"), "w", encoding="utf-8") as f:
            f.write(f"Location,Result,Units\n{os.path.relpath(s.path, top)},100,Watts\n")
        page = os.path.join(self.dir, "out.html")
        for args in (["show", top, "--json", "--html", page], ["show", top, "--csv"], ["show", s.path],
                     ["compare", s.path, s.path, "--all"]):
            self.torture("mlperf", *args, "-j1", "--no-check", kinds=("alloc", "write"))
            self.torture("mlperf", *args, "-j1", kinds=("alloc", "read", "open"), same_out=False, same_files=False,
                         ok=(0, 1))

    def test_recover(self):
        _, path = self.run_file()
        self.torture("recover", path)


if not preload():
    print("needs a build without sanitizers")
    sys.exit(77)
tap.main()

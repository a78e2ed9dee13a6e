#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What people and scripts give by mistake: options beyond their ends, files that are none of ours, outputs that
fail. Each is answered by one clear sentence and the right status, within a time, and destroys nothing."""
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import tempfile
import time
import unittest

import patience
import tap

JOULEMARK = os.environ["JOULEMARK"]
NOTHING = ["--sysfs-root", "/nonexistent", "--dev-root", "/nonexistent", "--nvml-lib", "/nonexistent/libnvidia-ml.so.1"]


class Base(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="bad_input_test.")
        self.addCleanup(shutil.rmtree, self.dir)
        self.file = self.path("x.jmr")

    def path(self, name):
        return os.path.join(self.dir, name)

    def joulemark(self, *args, **kw):
        kw.setdefault("stdin", subprocess.DEVNULL)
        kw.setdefault("stdout", subprocess.PIPE)
        kw.setdefault("cwd", self.dir)
        return subprocess.run([JOULEMARK, *args], stderr=subprocess.PIPE, text=True, timeout=120, **kw)

    def refused(self, status, part, *args, **kw):
        """Nothing on standard output, one sentence on standard error that says who speaks, no crash."""
        r = self.joulemark(*args, **kw)
        self.assertEqual(r.returncode, status, (args, r.stderr))
        self.assertFalse(r.stdout, args)
        self.assertIn(part, r.stderr, args)
        self.assertEqual(r.stderr.rstrip("\n").count("\n"), 0, r.stderr)
        self.assertTrue(r.stderr.startswith("joulemark"), r.stderr)
        return r.stderr

    def recorded(self, path=None, *args):
        r = self.joulemark("record", "-q", "-t", "50ms", *NOTHING, "-o", path or self.file, *args)
        self.assertEqual(r.returncode, 3, r.stderr)
        with open(path or self.file, "rb") as f:
            return f.read()

    def holds(self, path, data):
        with open(path, "rb") as f:
            self.assertEqual(f.read(), data, path + " is what it was")


class Options(Base):
    JUNK = ["", "-1", "nan", "NaN", "inf", "-inf", "1e400", "99999999999999999999", "0x10", "1,5", "1x",
            "5 parsecs", "--", "-", "\u0663", "\x1b[31m", "9e99h"]
    # ends that are allowed, and the first values outside
    ENDS = {
        "bench": {
            "concurrency": (["1", "65536"], ["0", "65537", "1.5", "1s"]),
            "rate": (["0.0001 Hz", "1000000/s", "6/min"], ["0/s", "1000001/s", "5", "5 W", "-1/s"]),
            "duration": (["100ms", "86400s", "1d", "23h59m"], ["99ms", "86401s", "0s", "60", "60 W", "-1s"]),
            "trials": (["1", "1000"], ["0", "1001"]),
            "until": (["2%", "0.5 %", "50%"], ["2", "0%", "51%", "-1%", "2 %%"]),
            "levels": (["100,50,0", "default"], ["0", "100,100", "151", "50;25"]),
            "capacity": (["0.0001/s", "12/s"], ["0/s", "12"]),
            "probe": (["100ms", "1h"], ["99ms", "2h"]),
            "requests": (["1", "1000000000"], ["0", "1000000001"]),
            "warmup": (["0s", "1d"], ["25h", "0"]),
            "idle": (["0s", "1h"], ["61min"]),
            "drain": (["0s", "1d"], ["25h"]),
            "isl": (["1", "10000000"], ["0", "10000001"]),
            "osl": (["1", "10000000"], ["0", "10000001"]),
            "temperature": (["0", "10", "0.7"], ["10.1", "-0.1"]),
            "seed": (["0", "9000000000000000000"], ["9223372036854775808", "-1"]),
            "connect-timeout": (["1ms", "1h"], ["999us", "61min"]),
            "header-timeout": (["1ms", "1d"], ["999us", "25h"]),
            "stall-timeout": (["1ms", "1d"], ["999us", "25h"]),
            "timeout": (["1ms", "1d"], ["999us", "25h"]),
            "threads": (["1", "16"], ["0", "17"]),
            "slo-ttft": (["1us", "1h"], ["0s", "1"]),
            "slo-tpot": (["1us", "1h"], ["0s"]),
            "slo-e2e": (["1us", "10h"], ["0s", "11h"]),
            "sample-rate": (["0.01 Hz", "1 kHz"], ["0.009 Hz", "1001 Hz", "10"]),
            "edge": (["1ms", "10s"], ["999us", "11s", "0s"]),
            "tdp": (["1 W", "10 kW"], ["0 W", "150", "150 J"]),
            "level": (["0.5", "0.999"], ["0", "1", "95"]),
            "pue": (["1", "1.5"], ["0.99", "0"]),
            "wue": (["0.2", "1.8,period=2025,source=a report, p. 3"], ["0", "101", "1.8,category=2", "1.8,period="]),
            "idle-power": (["5 kW"], ["0 W", "500", "-1 W"]),
        },
        "record": {"duration": (["1ms", "888h"], ["999us", "0s", "9e99s", "60"])},
        "idle": {"duration": (["1s", "24h"], ["999ms", "25h"]), "settle": (["0s", "1h"], ["61min"])},
        "meters": {"measure": (["10ms", "60s"], ["9ms", "61s"])},
        "demo": {"duration": (["1s", "1h"], ["999ms", "61min"]), "concurrency": (["1"], ["0"])},
    }

    def test_ends(self):
        for command, options in self.ENDS.items():
            for name, (good, bad) in options.items():
                for value in good:
                    with self.subTest(command=command, option=name, value=value):
                        r = self.joulemark(command, f"--{name}", value, "--help")
                        self.assertEqual((r.returncode, r.stderr), (0, ""))
                for value in bad:
                    with self.subTest(command=command, option=name, value=value):
                        self.refused(2, "--" + name, command, f"--{name}={value}", "--help")

    def test_every_option_that_takes_a_number_refuses_what_is_none(self):
        walked = 0
        for command in ("bench", "meters", "show"):
            text = self.joulemark(command, "--help").stdout
            options = re.findall(r"(?m)^  (?:-\w, |    )--([a-z0-9-]+) (\S+)$|^  (?:-\w, |    )--([a-z0-9-]+) (\S+)  ",
                                 text)
            for name, arg in [(a or c, b or d) for a, b, c, d in options]:
                free = arg in ("FILE", "DIR", "TEXT", "NAME", "LIST", "RUN", "JSON", "PATH", "URL", "METRIC", "HOSTS", "COMMAND", "NAME=ROLE", "ZONES", "PRICES", "MASS", "KEY=VALUE", "PERCENTS") and name != "profile"
                for value in self.JUNK[:1] if free else self.JUNK:
                    walked += 1
                    text = self.refused(2, "--" + name, command, f"--{name}={value}", "--help")
                    self.assertNotIn("\x1b", text, "what was given does not speak to the terminal")
            for name in re.findall(r"(?m)^  (?:-\w, |    )--([a-z-]+)  ", text):
                self.refused(2, "--" + name, command, f"--{name}=maybe", "--help")
        self.assertGreater(walked, 400)

    def test_option_without_its_value(self):
        self.refused(2, "--isl", "bench", "--isl")
        self.refused(2, "-o needs a value", "show", "x.jmr", "-o")

    def test_unknown_words(self):
        self.refused(2, "did you mean bench?", "bnech", "http://127.0.0.1:1")
        self.refused(2, "did you mean --concurrency?", "bench", "--concurency", "4", "http://127.0.0.1:1")
        self.refused(2, "-Z", "show", "-Z", "x.jmr")
        self.refused(2, "screening", "show", "-p", "sreening", "x.jmr")

    def test_format_of_nothing(self):
        self.recorded()
        self.refused(2, "text", "show", "-f", "pdf", self.file)

    def test_urls(self):
        for url in ("", "127.0.0.1", "ftp://127.0.0.1", "http://", "http://127.0.0.1:99999", "http://127.0.0.1:x",
                    "http://[::1", "http://a b/", "file:///etc/passwd", "http://127.0.0.1:0"):
            with self.subTest(url):
                r = self.joulemark("bench", url, "-o", self.file, "-t", "1s")
                self.assertIn(r.returncode, (2, 4), r.stderr)
                self.assertIn("URL", r.stderr)
                self.assertFalse(os.path.exists(self.file))

    def test_prompts(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))  # nobody listens: the prompts are looked at before the endpoint, or it is told
            url = f"http://127.0.0.1:{s.getsockname()[1]}"
            for name, text in (("absent", None), ("empty", ""), ("words", "hello\n"), ("array", "[1,2]\n"),
                               ("none", "{}\n"), ("nul", "\0\0\0\n")):
                path = self.path(name + ".jsonl")
                if text is not None:
                    with open(path, "w", encoding="utf-8") as f:
                        f.write(text)
                r = self.joulemark("bench", url, "--prompts", path, "-o", self.file, "--force")
                self.assertIn(r.returncode, (2, 4), r.stderr)
                self.assertEqual(r.stdout, "")


class Files(Base):
    """What is no run file of ours."""

    def test_not_ours(self):
        def write(name, data):
            with open(self.path(name), "wb") as f:
                f.write(data)
            return self.path(name)

        other = self.path("other.db")
        db = sqlite3.connect(other)
        db.execute("create table t(x)")
        db.commit()
        db.close()
        os.mkfifo(self.path("fifo"))
        os.mkdir(self.path("dir"))
        cases = [(write("empty", b""), "not a run file"), (write("text", b"hi\n"), "not a run file"),
                 (write("noise", os.urandom(100000)), "not a run file"), (other, "not a run file"),
                 ("/dev/null", "not a run file"), ("/dev/zero", "not a run file"), (self.path("fifo"), "cannot read"),
                 (self.path("dir"), "directory"), (self.path("absent"), "No such file"), ("", "")]
        for path, part in cases:
            for command in ("show", "report", "export", "recover"):
                with self.subTest(command=command, path=path):
                    self.refused(4, part, command, path)
        self.assertEqual(sorted(os.listdir(self.dir)), ["dir", "empty", "fifo", "noise", "other.db", "text"])

    def test_nothing_to_import(self):
        data = self.recorded()
        os.mkdir(self.path("dir"))
        for path, part in ((self.path("absent"), "No such file"), (self.path("dir"), "nothing that can be imported"),
                           (self.file, "a run file already"), ("/dev/null", "nothing that can be imported")):
            self.refused(4, part, "import", path, "-o", self.path("y.jmr"))
        self.refused(2, "mlperf", "import", "--from", "mlpref", self.path("absent"), "-o", self.path("y.jmr"))
        self.assertEqual(sorted(os.listdir(self.dir)), ["dir", "x.jmr"])
        self.holds(self.file, data)

    def test_newer_version(self):
        self.recorded()
        db = sqlite3.connect(self.file)
        db.execute("pragma user_version = 99")
        db.commit()
        db.close()
        with open(self.file, "rb") as f:
            data = f.read()
        for command in ("show", "report", "export", "recover"):
            self.refused(4, "version 99", command, self.file)
        self.holds(self.file, data)

    def test_cut_short_and_garbled(self):
        data = self.recorded()
        for n in (99, 100, 512, 4096, len(data) // 2, len(data) - 1):
            with open(self.path("cut"), "wb") as f:
                f.write(data[:n])
            for command in ("show", "recover"):
                self.refused(4, "cut", command, self.path("cut"))
        for at in range(0, len(data), len(data) // 40):
            with open(self.path("garbled"), "wb") as f:
                f.write(data[:at] + bytes(b ^ 0x5a for b in data[at:at + 200]) + data[at + 200:])
            r = self.joulemark("show", "--json", self.path("garbled"))
            self.assertIn(r.returncode, (3, 4), r.stderr)  # where nothing was written nothing is damaged

    def test_label_does_not_speak_to_the_terminal(self):
        self.recorded(None, "--label", "\x1b]0;mine\x07\x1b[2J\n\tlabel")
        for form in ("text", "markdown"):
            out = self.joulemark("show", "-f", form, self.file).stdout
            self.assertNotRegex(out, "[\x00-\x09\x0b-\x1f\x7f]")
            self.assertIn("label", out.splitlines()[0])


class Outputs(Base):
    def test_a_run_is_never_overwritten_by_its_own_picture(self):
        data = self.recorded()
        os.symlink(self.file, self.path("link"))
        for target in (self.file, self.path("link"), "./x.jmr"):
            for args in (["show"], ["show", "--json"], ["report"], ["export", "-f", "json"]):
                self.refused(4, "is a run file", *args, self.file, "-o", target)
        self.holds(self.file, data)
        r = self.joulemark("run", "-q", "--summary", self.file, "-o", self.path("y.jmr"), *NOTHING, "--", "true")
        self.assertEqual(r.returncode, 125, r.stderr)
        self.holds(self.file, data)

    def test_existing_files_are_kept(self):
        with open(self.file, "wb") as f:
            f.write(b"mine")
        for args in (["record", "-t", "1s"], ["idle", "-t", "1s"], ["demo"]):
            self.refused(4, "exists already", *args, "-q", "-o", self.file, *NOTHING)
        self.holds(self.file, b"mine")

    def test_what_is_no_file_is_not_replaced(self):
        os.mkfifo(self.path("fifo"))
        os.mkdir(self.path("dir"))
        for target in ("/dev/null", "/dev/full", self.path("fifo"), self.path("dir")):
            self.refused(4, target, "record", "-q", "-t", "50ms", "--force", "-o", target, *NOTHING)
        self.assertFalse(os.path.isfile("/dev/null"))

    def test_a_running_record_is_not_taken_away(self):
        first = subprocess.Popen([JOULEMARK, "record", "-q", "-o", self.file, *NOTHING], stdout=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE, text=True)
        try:
            patience.begun(first, self.file)
            self.refused(4, f"process {first.pid}", "record", "-q", "-t", "50ms", "--force", "-o", self.file, *NOTHING)
            self.refused(4, "another process", "recover", self.file)
        finally:
            first.send_signal(signal.SIGTERM)
            _, err = first.communicate(timeout=120)
        self.assertEqual(first.returncode, 3, err)
        self.assertEqual(self.joulemark("show", self.file).returncode, 3)

    def test_places_that_cannot_be_written(self):
        with open(self.path("file"), "wb"):
            pass
        for target in ("/proc/x.jmr", self.path("file") + "/x.jmr", self.path("x" * 300), self.dir + "/"):
            self.refused(4, "", "record", "-q", "-t", "50ms", "-o", target, *NOTHING)
        self.recorded()
        for target in ("/proc/x", self.path("file") + "/x"):
            self.refused(4, target.split("/x")[0], "show", self.file, "-o", target)
        # folders that are missing are made
        self.recorded(self.path("a/b/c.jmr"))

    @unittest.skipIf(os.geteuid() != 0 and not os.access("/proc/self/ns/user", os.R_OK), "needs another user")
    def test_no_permission(self):
        if os.geteuid() == 0 and not patience.nobody_runs(JOULEMARK):
            self.skipTest("nobody cannot run the program here")
        self.recorded()
        os.chmod(self.dir, 0o755)

        def nobody():
            if os.geteuid() == 0:
                os.setgid(65534)
                os.setuid(65534)

        self.addCleanup(os.chmod, self.dir, 0o755)
        os.chmod(self.dir, 0o555)
        self.refused(4, "Permission denied", "record", "-q", "-t", "50ms", "-o", self.path("y.jmr"), *NOTHING,
                     preexec_fn=nobody)
        os.chmod(self.file, 0)
        self.refused(4, "Permission denied", "show", self.file, preexec_fn=nobody)
        os.chmod(self.file, 0o444)
        self.assertEqual(self.joulemark("show", self.file, preexec_fn=nobody).returncode, 3)
        self.refused(4, "Permission denied", "report", self.file, preexec_fn=nobody)

    @unittest.skipUnless(os.path.exists("/dev/full"), "no /dev/full")
    def test_full_or_closed_standard_output(self):
        self.recorded()
        for args in (["show", self.file], ["show", "--json", self.file], ["meters", "--no-measure", *NOTHING],
                     ["report", self.file], ["record", "-q", "-t", "50ms", "--force", "-o", self.path("z.jmr"), *NOTHING]):
            with self.subTest(args[0]), open("/dev/full", "w", encoding="ascii") as full:
                r = self.joulemark(*args, stdout=full)
                self.assertIn("cannot write to standard output: No space", r.stderr)
                self.assertNotEqual(r.returncode, 0)
        with open("/dev/full", "w", encoding="ascii") as full:
            r = self.joulemark("show", self.file, "-o", "/dev/full", stdout=full)
            self.assertEqual(r.returncode, 4)
            self.assertIn("/dev/full", r.stderr)
        r = subprocess.run(["sh", "-c", f"'{JOULEMARK}' record -q -t 50ms -o '{self.path('w.jmr')}' --sysfs-root / >&-"],
                           stderr=subprocess.PIPE, text=True, timeout=120)
        self.assertIn("standard output", r.stderr)
        self.assertEqual(self.joulemark("show", self.path("w.jmr")).returncode, 3, "the run is whole all the same")


class Commands(Base):
    """joulemark run: what the command does is told, what was recorded stays."""

    def run_it(self, *args, **kw):
        return self.joulemark("run", "-q", "--force", "--no-summary", "-o", self.file, *NOTHING, "--", *args, **kw)

    def sealed(self):
        db = sqlite3.connect(self.file)
        state = db.execute("select state from run").fetchone()[0]
        db.close()
        self.assertEqual(state, "sealed")

    def test_cannot_be_executed(self):
        plain = self.path("plain")
        with open(plain, "w", encoding="ascii") as f:
            f.write("no program\n")
        for command, status, part in ((plain, 126, "Permission denied"), (self.path("absent"), 127, "No such file"),
                                      ("no-such-command", 127, "No such file"), (self.dir, 126, "Permission denied"),
                                      ("", 127, "No such file")):
            r = self.run_it(command)
            self.assertEqual(r.returncode, status, r.stderr)
            self.assertIn(part, r.stderr)
            self.sealed()
        os.chmod(plain, 0o755)
        with open(plain, "w", encoding="ascii") as f:
            f.write("#!/no/such/interpreter\n")
        self.assertEqual(self.run_it(plain).returncode, 127)

    def test_killed_by_a_signal(self):
        for sig in (signal.SIGKILL, signal.SIGTERM, signal.SIGABRT, signal.SIGPIPE):
            self.assertEqual(self.run_it("sh", "-c", f"ulimit -c 0; kill -{int(sig)} $$").returncode, 128 + sig)
            self.sealed()

    def test_child_that_ignores_the_signal(self):
        """The command decides how long it lives; the second signal is passed on like the first."""
        child = subprocess.Popen([JOULEMARK, "run", "-q", "--no-summary", "-o", self.file, *NOTHING, "--", "sh", "-c",
                                  f"trap '' TERM; echo ready; until [ -e '{self.path('go')}' ]; do sleep 0.02; done"], stdout=subprocess.PIPE, text=True)
        self.assertEqual(child.stdout.readline(), "ready\n")
        child.terminate()
        time.sleep(0.3)
        self.assertIsNone(child.poll(), "still with its command")
        child.terminate()
        with open(self.path("go"), "wb"):
            pass
        child.communicate(timeout=120)
        self.assertEqual(child.returncode, 0)
        self.sealed()

    def test_child_that_closes_everything(self):
        self.assertEqual(self.run_it("sh", "-c", "exec <&- >&- 2>&-; exit 7").returncode, 7)
        self.sealed()


tap.main()

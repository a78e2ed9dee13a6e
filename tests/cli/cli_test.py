#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command line itself: help, usage errors, exit statuses, colours, standard output that fails."""
import json
import os
import pty
import re
import socket
import subprocess
import tempfile
import unittest

import tap

JOULEMARK = os.environ["JOULEMARK"]
SOURCE = os.environ["JM_SOURCE"]


def run(*args, **kw):
    env = dict(os.environ, **kw.pop("env", {}))
    for name in kw.pop("without", []):
        env.pop(name, None)
    return subprocess.run([JOULEMARK, *args], capture_output=True, text=True, env=env, stdin=subprocess.DEVNULL,
                          timeout=60, **kw)


def commands():
    """Their names; of those with two words both ("mlperf show")."""
    return re.findall(r"^  ([a-z]+(?: [a-z]+)?) ", run("help").stdout, re.M)


def on_terminal(*args, env=None):
    """Both outputs of the command when they are a terminal."""
    leader, follower = pty.openpty()
    child = subprocess.Popen([JOULEMARK, *args], stdout=follower, stderr=follower, stdin=subprocess.DEVNULL,
                             env={**{k: v for k, v in os.environ.items() if k != "NO_COLOR"}, "TERM": "xterm", **(env or {})})
    os.close(follower)
    out = b""
    while True:
        try:
            part = os.read(leader, 4096)
        except OSError:
            break
        if not part:
            break
        out += part
    child.wait()
    os.close(leader)
    return out.decode()


class Help(unittest.TestCase):
    def test_no_command_is_a_usage_error_with_help(self):
        r = run()
        self.assertEqual(r.returncode, 2)
        self.assertEqual(r.stdout, "")
        self.assertIn("usage: joulemark COMMAND", r.stderr)

    def test_help_in_every_spelling(self):
        want = run("help").stdout
        self.assertEqual(run("--help").stdout, want)
        self.assertEqual(run("-h").stdout, want)
        self.assertIn("mark", commands())

    def test_each_command_has_help_of_80_columns(self):
        for name in commands():
            with self.subTest(name):
                r = run("help", *name.split())
                self.assertEqual((r.returncode, r.stderr), (0, ""))
                for line in r.stdout.splitlines():
                    self.assertLessEqual(len(line), 80, line)
                if name != "sim":  # passes every word on
                    self.assertEqual(run(*name.split(), "--help").stdout, r.stdout)

    def test_commands_of_two_words(self):
        """A parent lists what is below it, in help and on its own; both words belong to the name."""
        page = run("help", "mlperf")
        self.assertEqual((page.returncode, page.stderr), (0, ""))
        self.assertEqual(run("mlperf", "--help").stdout, page.stdout)
        self.assertEqual(run("mlperf", "-h").stdout, page.stdout)
        self.assertEqual(run("mlperf", "help").stdout, page.stdout)
        self.assertEqual(run("mlperf", "help", "show").stdout, run("help", "mlperf", "show").stdout)
        self.assertEqual(run("mlperf", "help", "shwo").returncode, 2)
        below = [c for c in commands() if c.startswith("mlperf ")]
        self.assertEqual(re.findall(r"^  (mlperf [a-z]+) ", page.stdout, re.M), below)
        self.assertNotIn("mlperf", commands())  # it is a heading there
        r = run("mlperf")
        self.assertEqual((r.returncode, r.stdout, r.stderr), (2, "", page.stdout))

    def test_overview_has_80_columns(self):
        for line in run("help").stdout.splitlines():
            self.assertLessEqual(len(line), 80, line)

    def test_version(self):
        r = run("--version")
        self.assertRegex(r.stdout, r"^joulemark \d+\.\d+\.\d+\n$")
        self.assertEqual(json.loads(run("version", "--json").stdout)["joulemark"], r.stdout.split()[1])

    def test_documentation_is_up_to_date(self):
        with open(os.path.join(SOURCE, "docs", "commands.md"), encoding="utf-8") as f:
            self.assertEqual(f.read(), run("help", "--markdown").stdout,
                             "run: build/joulemark help --markdown > docs/commands.md")

    def test_man_page_names_every_command(self):
        page = run("help", "--man").stdout
        self.assertTrue(page.startswith(".TH JOULEMARK 1"))
        for name in commands():
            self.assertIn(f".SS joulemark {name} ", page)
        for line in page.splitlines():
            self.assertNotRegex(line, r"^\.(?!TH|SH|SS|TP|PP|B |I )", "a control line that was not meant")


class Usage(unittest.TestCase):
    def fails(self, status, part, *args, **kw):
        r = run(*args, **kw)
        self.assertEqual(r.returncode, status, r.stderr)
        self.assertEqual(r.stdout, "")
        self.assertIn(part, r.stderr)
        self.assertTrue(r.stderr.startswith("joulemark"), r.stderr)

    def test_unknown_command_names_the_nearest(self):
        self.fails(2, "did you mean mark?", "makr")
        self.fails(2, "joulemark help lists them", "completely-different")
        self.fails(2, "options come after its name", "--json")
        self.fails(2, "did you mean mlperf?", "mlpref")
        self.fails(2, "\"nothing-like-it\" is not a command of mlperf; joulemark help mlperf lists them", "mlperf",
                   "nothing-like-it")
        self.fails(2, "options come after its name, see joulemark help mlperf", "mlperf", "--json")

    def test_unknown_option_names_the_nearest(self):
        self.fails(2, "did you mean --socket?", "mark", "--sokcet=x", "a")

    def test_operands_are_counted(self):
        self.fails(2, "too few arguments; usage: joulemark mark NAME", "mark")
        self.fails(2, "too many arguments at \"b\"", "mark", "a", "b")
        self.fails(2, "not a command", "help", "nothing")
        self.fails(2, "\"nothing\" is not a command of mlperf", "help", "mlperf", "nothing")
        self.fails(2, "mark has no commands of its own", "help", "mark", "name")

    def test_every_option_refuses_what_is_no_value_of_it(self):
        hostile = {"N": ["", "x", "1.5", "0x10", "99999999999999999999", "-99999999999999999999", "1e3", " 1"],
                   "X": ["", "x", "nan", "inf", "1e999", "0x1", "1,5"],
                   "TIME": ["", "1", "s", "-1s", "1e3s", "1 parsec", "999999999999999999999d", "1h1h"],
                   "RATE": ["", "10", "-1 Hz", "nan Hz", "1e999 Hz", "10 W", "10/fortnight"],
                   "POWER": ["", "10", "-1 W", "1e999 W", "10 w", "10 J"]}
        tried = 0
        command = None
        for line in run("help", "--markdown").stdout.splitlines():
            head = re.match(r"## joulemark (.+)", line)
            if head:
                command = head.group(1)
            row = re.match(r"\| (?:`-\w`, )?`--([a-z0-9-]+)(?: ([^`]+))?` \|", line)
            if not row:
                continue
            name, arg = row.groups()
            for value in hostile.get(arg, ["definitely-not"] if arg and "|" in arg else []):
                r = run(*command.split(), f"--{name}={value}", "operand")
                self.assertEqual((r.returncode, r.stdout), (2, ""), (command, name, value, r.stderr))
                self.assertIn(f"--{name}: ", r.stderr)
                tried += 1
        self.assertGreater(tried, 150)

    def test_bad_log_level(self):
        self.fails(2, "JM_LOG", "version", env={"JM_LOG": "loud"})

    def test_configuration_file(self):
        if not json.loads(run("version", "--json").stdout)["yaml"]:
            self.skipTest("built without libyaml")
        with tempfile.TemporaryDirectory() as d:
            path = os.path.join(d, "plan.yaml")
            self.fails(4, "cannot open " + path, "version", "--config", path)
            with open(path, "w", encoding="utf-8") as f:
                f.write("jsn: true\n")
            if os.environ.get("JM_HAVE_YAML") == "0":
                self.fails(4, "built without libyaml", "version", "--config", path)
                return
            self.fails(2, f"{path}: line 1, column 1: unknown key \"jsn\"; did you mean \"json\"?", "version",
                       "--config", path)
            with open(path, "w", encoding="utf-8") as f:
                f.write("json: true\n")
            self.assertIn("schema", run("version", "--config", path).stdout)
            self.assertNotIn("schema", run("version", "--config", path, "--no-json").stdout)


class Output(unittest.TestCase):
    @unittest.skipUnless(os.path.exists("/dev/full"), "no /dev/full")
    def test_full_standard_output_is_an_error(self):
        for args in (["help"], ["version"], ["help", "--markdown"]):
            with open("/dev/full", "w", encoding="utf-8") as full:
                r = subprocess.run([JOULEMARK, *args], stdout=full, stderr=subprocess.PIPE, text=True)
            self.assertEqual(r.returncode, 4)
            self.assertIn("cannot write to standard output", r.stderr)

    def test_closed_standard_output_is_an_error(self):
        r = subprocess.run(["sh", "-c", f"'{JOULEMARK}' version >&-"], stderr=subprocess.PIPE, text=True)
        self.assertEqual(r.returncode, 4)

    def test_broken_pipe_is_an_error(self):
        reader, writer = os.pipe()
        os.close(reader)
        r = subprocess.run([JOULEMARK, "help", "--markdown"], stdout=writer, stderr=subprocess.PIPE, text=True)
        os.close(writer)
        self.assertEqual(r.returncode, 4)
        self.assertIn("Broken pipe", r.stderr)

    def test_colour(self):
        self.assertNotIn("\033", run("help", "mark").stdout)
        self.assertIn("\033[1m", on_terminal("help", "mark"))
        self.assertNotIn("\033", on_terminal("help", "mark", env={"NO_COLOR": "1"}))
        self.assertIn("\033[1m", on_terminal("help", "mark", env={"NO_COLOR": ""}))
        self.assertNotIn("\033", on_terminal("help", "mark", env={"TERM": "dumb"}))
        self.assertIn("\033[1m", run("help", "mark", "--color=always").stdout)
        self.assertNotIn("\033", on_terminal("help", "mark", "--color=never"))


class Mark(unittest.TestCase):
    def test_mark_arrives(self):
        with tempfile.TemporaryDirectory() as d, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
            path = os.path.join(d, "s")
            s.bind(path)
            s.settimeout(60)
            r = run("mark", "phase 1", env={"JOULEMARK_MARK_SOCKET": path})
            self.assertEqual((r.returncode, r.stderr), (0, ""))
            self.assertEqual(s.recv(1000), b"mark phase 1\n")

    def test_nobody_listens(self):
        r = run("mark", "x", without=["JOULEMARK_MARK_SOCKET"])
        self.assertEqual(r.returncode, 2)
        self.assertIn("no recorder to mark", r.stderr)
        r = run("mark", "x", "--socket", "/nonexistent/socket")
        self.assertEqual(r.returncode, 4)
        self.assertIn("no recorder listens", r.stderr)

    def test_bad_names(self):
        for name in ("", "a\nb", "x" * 128):
            self.assertEqual(run("mark", "--socket=/x", name).returncode, 2)


class Sim(unittest.TestCase):
    def test_passes_words_and_status_on(self):
        with tempfile.TemporaryDirectory() as d:
            path = os.path.join(d, "sim")
            with open(path, "w", encoding="utf-8") as f:
                f.write("#!/bin/sh\necho \"$@\"\nexit 9\n")
            os.chmod(path, 0o755)
            r = run("sim", "node", "--help", "--json", env={"JM_SIM": path})
            self.assertEqual((r.returncode, r.stdout), (9, "node --help --json\n"))

    def test_not_there(self):
        r = run("sim", "node", env={"JM_SIM": "/nonexistent/sim"})
        self.assertEqual(r.returncode, 4)
        self.assertIn("JM_SIM", r.stderr)


tap.main()

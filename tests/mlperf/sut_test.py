#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""joulemark mlperf sut against a Director by script: what it says and when, what it writes, and how it ends when the workload
fails."""
import json
import os
import signal
import subprocess
import time

import patience
import power_server
import tap
from sutcase import Case, running, sha1


# The commands of published client.json files, session and UUIDs apart: v4.1 and v5.1 (with and without -S). The same list is
# taken from the files themselves in sut_corpus_test.py.
ORDER = ["mlcommons/power client v3", "time", "new,,UUID",
         "time", "session,ID,start,ranging", "time", "time", "session,ID,stop,ranging", "time",
         "time", "session,ID,start,testing", "time", "time", "session,ID,stop,testing", "time"]
ENDING = ["session,ID,done"] + ["download,ID," + name for name in power_server.FILES] + ["cleanup,ID"]


def plain(commands, session, uuid):
    return [c.replace(session, "ID").replace(uuid, "UUID") for c in commands]


class Whole(Case):
    def test_commands_files_and_times(self):
        server = self.server()
        r = self.sut(server)
        self.assertEqual(r.returncode, 0, r.stderr)
        name = "2026-01-30_10-00-00"
        d, client = self.session(), self.client()
        uuid = client["uuid"]["client"]
        self.assertEqual(plain(server.seen, name, uuid), ORDER + ENDING)
        self.assertEqual([m["cmd"] for m in client["messages"]], server.seen[:len(ORDER)])  # recorded until client.json is written
        self.assertEqual(client["uuid"]["server"], power_server.UUID)
        self.assertEqual((client["version"], client["session_name"], client["ptd_config"]), ("1.0", name, [None]))
        # the files of the published sessions, and their hashes
        have = sorted(os.path.relpath(os.path.join(top, f), d) for top, _, files in os.walk(d) for f in files)
        self.assertEqual(have, sorted(power_server.FILES + ["power/client.json", "power/client.log"] +
                                      [f"{run}/mlperf_log_{part}.txt" for run in ("ranging", "run_1") for part in ("detail", "summary")]))
        own = ["power/client.log"] + [f"{run}/mlperf_log_{part}.txt" for run in ("ranging", "run_1") for part in ("detail", "summary")]
        self.assertEqual(client["results"], {f: sha1(os.path.join(d, f)) for f in own})
        for f in power_server.FILES:
            with open(os.path.join(d, f), "rb") as got:
                self.assertEqual(got.read(), server.files[f])
        # moments: phase 0 lies between the clock check and start, 1 after start's reply, 2 before stop, 3 after its reply
        m = client["messages"]
        for row in m:
            self.assertLessEqual(row["cmd_time"], row["reply_time"])
        for mode, first in (("ranging", 4), ("testing", 10)):
            t = [stamp[0] for stamp in client["phases"][mode]]
            self.assertEqual(len(t), 4)
            self.assertTrue(m[first - 1]["reply_time"] <= t[0] <= m[first]["cmd_time"])
            self.assertTrue(m[first]["reply_time"] <= t[1] <= m[first + 1]["cmd_time"])
            self.assertTrue(m[first + 2]["reply_time"] <= t[2] <= m[first + 3]["cmd_time"])
            self.assertTrue(m[first + 3]["reply_time"] <= t[3] <= m[first + 4]["cmd_time"])
            mono = [stamp[1] for stamp in client["phases"][mode]]
            self.assertEqual(mono, sorted(mono))
            self.assertAlmostEqual(t[3] - t[0], mono[3] - mono[0], delta=0.5)  # between two clocks the machine may do something else
        self.assertIn(self.ntp.asked, range(3, 7))  # again where an answer came late; before the session and before each phase
        own = client["joulemark"]
        self.assertTrue(own["complete"])
        self.assertEqual(own["workload_status"], {"ranging": 0, "testing": 0})
        self.assertLess(abs(own["ntp"]["worst_offset_s"]), 0.4)

    def test_log_lines_are_those_of_the_public_client(self):
        server = self.server()
        self.assertEqual(self.sut(server).returncode, 0)
        with open(os.path.join(self.session(), "power", "client.log"), encoding="utf-8") as f:
            lines = f.read().splitlines()
        for line in lines:
            self.assertRegex(line, r"^client \d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} \[(INFO|WARNING)\] ")
        said = [line.split("] ", 1)[1] for line in lines]
        self.assertEqual(said[0], "Sending command to the server: 'mlcommons/power client v3'")
        self.assertEqual(said[1], "Got response: 'mlcommons/power server v3'")
        self.assertEqual(said[-1], "Done runs")
        for text in ("Session id is '2026-01-30_10-00-00'", "Running workload in ranging mode", "Running workload in testing mode",
                     f"Running the workload {self.workload!r}",
                     f"Copying loadgen logs from '{self.indir}/run' to '{self.session()}/run_1'"):
            self.assertIn(text, said)
        self.assertTrue(any(s.startswith("NTP:offset = ") for s in said))

    def test_stop_label_flat_and_fixed_ranges(self):
        server = self.server()
        r = self.sut(server, "-S", "-l", "a_B-9", "-T", "-V", "230", "-A", "2.5")
        self.assertEqual(r.returncode, 0, r.stderr)
        seen = plain(server.seen, "2026-01-30_10-00-00_a_B-9", "UUID")
        self.assertEqual(seen[1], "stop")
        self.assertTrue(seen[3].startswith("new,a_B-9,"))
        self.assertEqual([s for s in seen if s.startswith("session")],
                         ["session,ID,start,testing,230,2.5", "session,ID,stop,testing", "session,ID,done"])
        self.assertNotIn("download,ID,ranging/spl.txt", seen)
        self.assertTrue(os.path.exists(os.path.join(self.out, "power", "client.json")))
        again = self.sut(self.server(), "-T")
        self.assertEqual(again.returncode, 4)
        self.assertIn("another session", again.stderr)

    def test_longer_files_come_in_chunks(self):
        big = os.urandom(3 * (1 << 20) + 17)
        files = {name: b"x" for name in power_server.FILES}
        files["run_1/spl.txt"] = big
        files["power/server.log"] = b""
        server = self.server(files=files)
        self.assertEqual(self.sut(server).returncode, 0)
        with open(os.path.join(self.session(), "run_1", "spl.txt"), "rb") as f:
            self.assertEqual(f.read(), big)
        self.assertEqual(os.path.getsize(os.path.join(self.session(), "power", "server.log")), 0)

    def test_an_older_director_has_no_ptd_out(self):
        server = self.server(absent=("run_1/ptd_out.txt",))
        r = self.sut(server)
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertFalse(os.path.exists(os.path.join(self.session(), "run_1", "ptd_out.txt")))


class Clocks(Case):
    def test_ntp_offset_ends_the_session(self):
        self.ntp.offset = 0.8
        server = self.server()
        r = self.sut(server)
        self.assertEqual(r.returncode, 4)
        self.assertIn("needs less than 0.4 s", r.stderr)
        self.assertIn("Nothing was measured", r.stderr)
        self.assertNotIn("set_ntp", server.seen)
        self.assertFalse([s for s in server.seen if s.startswith("new")])

    def test_ntp_offset_below_the_limit_is_fine(self):
        self.ntp.offset = -0.1
        self.assertEqual(self.sut(self.server()).returncode, 0)
        self.assertAlmostEqual(self.client()["joulemark"]["ntp"]["worst_offset_s"], -0.1, delta=0.09)

    def test_the_directors_clock(self):
        server = self.server(clock=-1.5)
        r = self.sut(server)
        self.assertEqual(r.returncode, 4)
        self.assertIn("Director", r.stderr)
        self.assertEqual(server.seen, ["mlcommons/power client v3", "time"])

    def test_a_clock_that_slips_later_is_kept_and_told(self):
        server = self.server(trouble={"time#4": f"{time.time() + 1000}\r\n".encode()})
        r = self.sut(server)
        self.assertEqual(r.returncode, 3, r.stderr)
        self.assertIn("beyond the limit", r.stdout)
        self.assertTrue(self.client()["joulemark"]["complete"])

    def test_without_ntp_the_session_says_so(self):
        server = self.server()
        self.assertEqual(self.sut(server, ntp=False).returncode, 0)
        self.assertEqual(self.client()["joulemark"]["ntp"], "not asked (--no-ntp)")
        self.assertEqual(self.ntp.asked, 0)

    def test_silent_ntp(self):
        self.ntp.silent = True
        r = self.sut(self.server())
        self.assertEqual(r.returncode, 4)
        self.assertIn("NTP", r.stderr)

    def test_set_clock_asks_the_director_first(self):
        bin_dir = os.path.join(self.at, "bin")
        os.mkdir(bin_dir)
        for tool in ("ntpdate", "sudo"):
            path = os.path.join(bin_dir, tool)
            with open(path, "w", encoding="ascii") as f:
                f.write(f"#!/bin/sh\necho \"$0 $@\" >> {self.at}/called\nexit 3\n")
            os.chmod(path, 0o755)
        self.ntp.offset = 2
        server = self.server()
        env = dict(os.environ, PATH=bin_dir + ":" + os.environ["PATH"])
        r = subprocess.run(self.command(server, "--set-clock"), capture_output=True, text=True, timeout=240, env=env)
        self.assertEqual(r.returncode, 4)
        self.assertEqual(server.seen, ["mlcommons/power client v3", "set_ntp"])
        self.assertIn("status 3", r.stderr)
        with open(self.at + "/called", encoding="ascii") as f:
            self.assertIn(f"-b -- {self.ntp.address}", f.read())


class WorkloadFails(Case):
    def test_status_is_told_and_evidence_kept(self):
        server = self.server()
        r = self.sut(server, workload=f"{self.workload}; exit 7")
        self.assertEqual(r.returncode, 4)
        self.assertIn("status 7 in the ranging phase", r.stderr)
        own = self.client()["joulemark"]
        self.assertEqual((own["complete"], own["workload_status"]), (False, {"ranging": 7}))
        self.assertIn("session,2026-01-30_10-00-00,done", server.seen)  # the Director is not left waiting
        self.assertTrue(os.path.exists(os.path.join(self.session(), "power", "server.log")))

    def test_in_testing(self):
        flag = os.path.join(self.at, "second")
        r = self.sut(self.server(), workload=f"{self.workload}; [ ! -e {flag} ] || kill -9 $$; : > {flag}")
        self.assertEqual(r.returncode, 4)
        self.assertIn("status 137 in the testing phase", r.stderr)
        self.assertTrue(os.path.exists(os.path.join(self.session(), "ranging", "mlperf_log_detail.txt")))

    def test_no_logs(self):
        for text, workload in (("no directory", "true"), ("no mlperf_log_detail.txt", f"mkdir -p {self.indir}"),
                               ("power_begin and power_end", f"mkdir -p {self.indir}; echo > {self.indir}/mlperf_log_detail.txt"),
                               ("No such file", f"{self.workload}; rm {self.indir}/run/mlperf_log_summary.txt")):
            with self.subTest(text=text):
                server = self.server()
                r = self.sut(server, workload=workload)
                self.assertEqual(r.returncode, 4)
                self.assertIn(text, r.stderr)
                subprocess.run(["rm", "-r", self.out], check=True)

    def test_stale_logs_are_not_taken(self):
        subprocess.run(["sh", "-c", self.workload], check=True)
        r = self.sut(self.server(), workload="true")
        self.assertEqual(r.returncode, 4)
        self.assertIn("inside the workload's time", r.stderr)

    def test_force_removes_stale_logs(self):
        os.makedirs(os.path.join(self.indir, "old"))
        os.symlink(self.at, os.path.join(self.indir, "link"))
        r = self.sut(self.server(), "-f")
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertEqual(os.listdir(self.indir), ["run"])
        self.assertTrue(os.path.exists(os.path.join(self.at, "workload.sh")))  # links are not followed

    def test_interrupt(self):
        for sig in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(sig=sig):
                self.tearDown()
                self.setUp()
                server = self.server()
                p = subprocess.Popen(self.command(server, workload=f"echo $$ > {self.at}/pid; sleep 300 & sleep 300"),
                                     stderr=subprocess.PIPE, text=True)
                while not os.path.exists(self.at + "/pid") or not os.path.getsize(self.at + "/pid"):
                    time.sleep(0.01)
                p.send_signal(sig)
                _, err = p.communicate(timeout=240)
                self.assertEqual(p.returncode, 128 + sig, err)
                self.assertIn("interrupted", err)
                with open(self.at + "/pid", encoding="ascii") as f:
                    group = int(f.read())
                patience.until(lambda: running(group) == [])  # nobody of its group is left
                self.assertEqual(server.seen[-1], "session,2026-01-30_10-00-00,done")
                self.assertEqual(self.client()["joulemark"]["stage"], "ranging: workload")


class Submission(Case):
    """The files of the tree: mlcommons/inference tools/submission, submission_structure.md."""

    def laid_out(self, *more, **how):
        return self.sut(self.server(**how), "--submission", self.at + "/tree", "--system", "box-1", "--benchmark", "llama3.1-8b",
                        "--scenario", "Offline", "--submitter", "Somebody", *more)

    def tree(self):
        at = os.path.join(self.at, "tree")
        return sorted(os.path.relpath(os.path.join(top, f), at) for top, _, files in os.walk(at) for f in files)

    def test_files(self):
        conf = os.path.join(self.at, "user.conf")
        with open(conf, "w", encoding="ascii") as f:
            f.write("*.Offline.target_qps = 1\n")
        r = self.laid_out("--user-conf", conf, "--division", "open")
        self.assertEqual(r.returncode, 1, r.stderr)  # what the scripted Director sent is no measurement
        result = "open/Somebody/results/box-1/llama3.1-8b/Offline/"
        self.assertEqual(self.tree(), sorted(
            [result + "performance/" + f for f in power_server.FILES if f != "run_1/ptd_out.txt"] +
            [result + f"performance/{run}/mlperf_log_{part}.txt" for run in ("ranging", "run_1") for part in ("detail", "summary")] +
            [result + f for f in ("performance/power/client.json", "performance/power/client.log", "README.md", "user.conf",
                                  "analyzer_table.md", "power_settings.md", "box-1.json")] + ["open/Somebody/systems/box-1.json"]))
        with open(f"{self.at}/tree/open/Somebody/systems/box-1.json", encoding="utf-8") as f:
            system = json.load(f)
        self.assertEqual((system["division"], system["submitter"], system["number_of_nodes"]), ("open", "Somebody", 1))
        self.assertEqual((system["framework"], system["cooling"], system["power_supply_details"]), ("", "", ""))  # nobody can know
        self.assertIn("power_supply_details", " ".join(r.stdout.split()))
        self.assertIn("official", r.stdout)
        self.assertLessEqual(max(map(len, r.stdout.split("submission ", 1)[1].splitlines()[1:])), 80)

    def test_nothing_is_overwritten(self):
        self.laid_out()
        for name in ("systems/box-1.json", "results/box-1/llama3.1-8b/Offline/power_settings.md"):
            with open(f"{self.at}/tree/closed/Somebody/{name}", "w", encoding="ascii") as f:
                f.write("mine")
        before = self.tree()
        r = self.laid_out(session="2026-01-30_11-00-00")
        self.assertEqual(r.returncode, 4)
        self.assertIn("is there already", r.stderr)
        self.assertIn("the session is whole in", r.stderr)
        self.assertEqual(self.tree(), before)
        subprocess.run(["rm", "-r", f"{self.at}/tree/closed/Somebody/results/box-1/llama3.1-8b/Offline/performance"], check=True)
        self.assertEqual(self.laid_out(session="2026-01-30_12-00-00").returncode, 1)
        self.assertEqual(self.tree(), before)
        for name in ("systems/box-1.json", "results/box-1/llama3.1-8b/Offline/power_settings.md"):
            with open(f"{self.at}/tree/closed/Somebody/{name}", encoding="ascii") as f:
                self.assertEqual(f.read(), "mine")

    def test_json(self):
        r = self.laid_out("--json")
        told = json.loads(r.stdout)
        self.assertEqual(told["schema"], "joulemark.mlperf.sut/1")
        self.assertTrue(told["submission"].endswith("closed/Somebody/results/box-1/llama3.1-8b/Offline"))
        self.assertTrue(any(line.startswith("systems/box-1.json: ") for line in told["to_fill_in"]))
        self.assertEqual(told["check"]["verdict"], "fail")


class Usage(Case):
    def refused(self, *more, text, indir=None, out=None):
        server = self.server()
        c = self.command(server, *more)
        if indir:
            c[c.index("-L") + 1] = indir
        if out:
            c[c.index("-o") + 1] = out
        r = subprocess.run(c, capture_output=True, text=True, timeout=240, cwd=self.at)
        self.assertEqual(r.returncode, 2, r.stderr)
        self.assertIn(text, r.stderr)
        self.assertEqual(server.seen, [])

    def test_paths(self):
        os.makedirs(os.path.join(self.at, "in", "deep"))
        os.symlink("in", os.path.join(self.at, "also"))
        self.refused(indir=self.at + "/in", out=self.at + "/in", text="same directory")
        self.refused(indir=self.at + "/in", out=self.at + "/also/../also/deep/x", text="inside INDIR")
        self.refused(indir="in", out="in/new/deeper", text="inside INDIR")
        self.refused(indir=self.at + "/also", out=self.at + "/in/x", text="inside INDIR")
        self.refused("-f", indir="/", out="/x", text="INDIR")
        self.refused("-f", indir=".", out="../elsewhere", text="working directory")

    def test_options(self):
        self.refused("-l", "a/b", text="label")
        self.refused("-l", "a,b", text="label")
        self.refused("-V", "230", text="-A")
        self.refused("-V", "nan", "-A", "1", text="number")
        self.refused("-V", "0", "-A", "1", text="number")
        self.refused("-p", "70000", text="port")

    def test_names_of_a_submission(self):
        tree = ["--submission", self.at + "/tree", "--system", "a", "--benchmark", "b", "--scenario", "Offline"]
        for option in ("--system", "--benchmark", "--submitter"):
            for name in ("..", ".x", "a/b", "", "a b", "\n", "x" * 201):
                self.refused(*tree, option, name, text=option)
        self.refused(*tree, "--scenario", "offline", text="Offline")
        self.refused(*tree[:2], text="--system")
        self.refused(*tree[2:], text="--submission")


if __name__ == "__main__":
    tap.main()

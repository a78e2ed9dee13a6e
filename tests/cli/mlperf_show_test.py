#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""joulemark mlperf show and compare on trees whose figures follow by hand from what was written into them."""
import csv
import io
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import tempfile
import time
import unittest

import mlperftree
import tap

JOULEMARK = os.environ["JOULEMARK"]


def run(*args, env=None, **kw):
    return subprocess.run([JOULEMARK, "mlperf", *args], capture_output=True, stdin=subprocess.DEVNULL, timeout=120,
                          env={**os.environ, **(env or {})}, **kw)


class Base(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.mkdtemp(prefix="mlperf-show.")
        cls.addClassCleanup(shutil.rmtree, cls.dir)

    def show(self, *args, status=0, **kw):
        r = run("show", *args, **kw)
        self.assertEqual(r.returncode, status, r.stderr.decode(errors="replace")[-500:])
        return r.stdout.decode()

    def json(self, *args, **kw):
        return json.loads(self.show(*args, "--json", **kw))


class Rounds(Base):
    """Two rounds of a few systems: watts and rates are given, everything else is arithmetic."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.made = {}
        for rnd, submitter, system, division, status, watts, rate in (
                ("v4.1", "ACME", "box", "closed", "available", 500.0, 100.0),
                ("v4.1", "Other", "crate", "closed", "available", 400.0, 50.0),
                ("v4.1", "ACME", "odd", "open", "available", 100.0, 100.0),
                ("v5.1", "ACME", "box", "closed", "available", 450.0, 135.0),
                ("v5.1", "ACME", "soon", "closed", "preview", 450.0, 500.0)):
            root = os.path.join(cls.dir, "inference_results_" + rnd)
            tree = mlperftree.Tree(root, round=rnd, division=division, submitter=submitter, system=system)
            tree.system(system_name=f"The {system}", status=status, division=division, submitter=submitter)
            s = tree.result("resnet50", "Offline", watts=watts, seconds=600, rate=rate)
            cls.made[rnd, system] = (s, watts, rate)
        cls.rounds = [os.path.join(cls.dir, "inference_results_" + r) for r in ("v4.1", "v5.1")]

    def rows(self, *args):
        return self.json(*self.rounds, *args)["sessions"]

    def test_figures(self):
        rows = {(r["round"], r["system"]): r for r in self.rows()}
        self.assertEqual(set(rows), set(self.made))
        for key, (s, _, rate) in self.made.items():
            r = rows[key]
            self.assertAlmostEqual(r["published"]["metric"] / s.watts, 1, delta=1e-12)
            self.assertEqual((r["published"]["unit"], r["benchmark"], r["scenario"]), ("Watts", "resnet50", "Offline"))
            self.assertAlmostEqual(r["published"]["samples_per_j"] / (rate / s.watts), 1, delta=1e-9)
            self.assertEqual(r["system_name"], "The " + key[1])

    def test_order_does_not_depend_on_threads(self):
        once = self.show(*self.rounds, "--json", "--jobs=1")
        for jobs in ("2", "8", "64"):
            self.assertEqual(self.show(*self.rounds, "--json", "--jobs=" + jobs), once)
        self.assertEqual([(r["round"], r["submitter"], r["system"]) for r in json.loads(once)["sessions"]],
                         [("v4.1", "ACME", "box"), ("v4.1", "ACME", "odd"), ("v4.1", "Other", "crate"),
                          ("v5.1", "ACME", "box"), ("v5.1", "ACME", "soon")])

    def test_filters(self):
        def systems(*args):
            return [(r["round"], r["system"]) for r in self.rows(*args)]
        self.assertEqual(systems("--round=v5.1"), [("v5.1", "box"), ("v5.1", "soon")])
        self.assertEqual(systems("--round=5.1"), systems("--round=v5.1"))
        self.assertEqual(systems("--submitter=other"), [("v4.1", "crate")])
        self.assertEqual(systems("--division=open"), [("v4.1", "odd")])
        self.assertEqual(systems("--availability=preview,rdi"), [("v5.1", "soon")])
        self.assertEqual(systems("--system=cra"), [("v4.1", "crate")])
        self.assertEqual(systems("--system=The c*"), [("v4.1", "crate")])
        self.assertEqual(len(systems("--model=resnet50", "--scenario=offline")), 5)
        self.assertEqual(len(systems("--model=res*")), 5)
        r = run("show", *self.rounds, "--model=resnet")  # neither the whole name nor its beginning up to a dash
        self.assertEqual(r.returncode, 4)
        self.assertIn(b"the filters leave none of the 5 results", r.stderr)
        self.assertEqual(self.json(*self.rounds, "--division=open")["found"]["filtered"], 4)

    def test_sort_and_columns(self):
        out = self.show(*self.rounds, "--sort=-samples_per_j", "--columns=round,system,samples_per_j,metric")
        lines = [line.split() for line in out.splitlines() if re.match(r"v\d", line)]
        by = sorted(self.made, key=lambda k: -self.made[k][2] / self.made[k][0].watts)
        self.assertEqual([tuple(line[:2]) for line in lines], by)
        for args, text in ((["--columns=systme"], b'there is no column "systme"; did you mean system?'),
                           (["--sort=-wats"], b'there is no column "wats"'), (["--pue=0.9"], b"is no PUE"),
                           (["--pue=1.1,7"], b"the category is"), (["--csv", "--json"], b"cannot both")):
            r = run("show", *self.rounds, *args)
            self.assertEqual((r.returncode, r.stdout), (2, b""), args)
            self.assertIn(text, r.stderr)

    def test_columns_are_documented(self):
        with open(os.path.join(os.environ["JM_SOURCE"], "docs", "mlperf.md"), encoding="utf-8") as f:
            page = f.read().split("### Columns", 1)[1].split("\n## ", 1)[0]
        names = re.findall(r"^\| `(\w+)` \|", page, re.M)
        self.show(self.rounds[0], "--columns=" + ",".join(names))
        header = self.show(self.rounds[0], "--csv").splitlines()[0].split(",")
        self.assertEqual([n for n in names if n in header], header)
        self.assertEqual(set(names) - set(header), {"per_joule", "check"})

    def test_text_has_80_columns(self):
        for args in ([], ["--sort=metric"], ["--ascii"]):
            for line in self.show(*self.rounds, *args).splitlines():
                self.assertLessEqual(len(line), 80, line)
        self.assertTrue(self.show(*self.rounds, "--ascii").isascii())
        for columns in ("100", "140"):
            for line in self.show(*self.rounds, env={"COLUMNS": columns}).splitlines():
                self.assertLessEqual(len(line), int(columns), line)

    def test_csv(self):
        rows = list(csv.DictReader(io.StringIO(self.show(*self.rounds, "--csv"), newline="")))
        self.assertEqual(len(rows), 5)
        for r in rows:
            s = self.made[r["round"], r["system"]][0]
            self.assertAlmostEqual(float(r["metric"]) / s.watts, 1, delta=1e-12)
            self.assertEqual((r["tokens_per_j"], r["kind"]), ("", "session"))

    def test_facility_figure_is_labelled(self):
        r = self.rows("--pue=1.25,2", "--round=v5.1", "--system=box")[0]
        self.assertEqual((r["facility"]["pue"], r["facility"]["category"], r["facility"]["provenance"]), (1.25, "2", "estimated"))
        self.assertAlmostEqual(r["facility"]["energy_j"] / r["proper"]["energy_j"], 1.25, delta=1e-12)
        self.assertNotIn("facility", self.rows()[0])

    def test_single_session_is_a_page(self):
        s = self.made["v5.1", "box"][0]
        out = self.show(s.path)
        for text in ("resnet50 Offline", "95 % interval", "load window", "Rules"):
            self.assertIn(text, out)
        for line in out.splitlines():
            self.assertLessEqual(len(line), 80, line)
        here = run("show", ".", "--json", cwd=s.path)
        self.assertEqual(json.loads(here.stdout)["sessions"][0]["benchmark"], "resnet50")

    def test_what_is_not_official_says_so(self):
        top = os.path.join(self.dir, "unofficial")
        tree = mlperftree.Tree(top, round="v5.1", submitter="ACME", system="box")
        s = tree.result("resnet50", "Offline", watts=100, seconds=20)
        with open(os.path.join(s.path, "performance", "power", "NOT_OFFICIAL.txt"), "w", encoding="utf-8") as f:
            f.write("This is not an official MLPerf power measurement.\n")
        row = self.json(top)["sessions"][0]
        self.assertIn("not official", row["unofficial"])
        self.assertIn("NOT OFFICIAL", self.show(s.path))
        self.assertIn("not official: the session says", run("compare", s.path, s.path).stdout.decode())

    def compare(self, *args, status=0):
        r = run("compare", *args, "--json")
        self.assertEqual(r.returncode, status, r.stderr)
        return json.loads(r.stdout)

    def test_comparison_by_hand(self):
        c = self.compare(*self.rounds)
        self.assertEqual(len(c["matches"]), 1)
        m = c["matches"][0]
        # box against itself: 135/450 over 100/500; it is the best comparable one of both rounds
        w4, w5 = self.made["v4.1", "box"][0].watts, self.made["v5.1", "box"][0].watts
        self.assertAlmostEqual(m["ratio"] / ((135 / w5) / (100 / w4)), 1, delta=1e-9)
        self.assertEqual((m["by"], m["unit"], m["a"]["of"], m["b"]["of"]), ("same system", "samples/J", 2, 1))
        self.assertEqual({(x["side"], x["system"], x["why"]) for x in c["left_out"]},
                         {("a", "odd", "open division"), ("b", "soon", "preview, not available")})
        every = self.compare(*self.rounds, "--all")
        best = next(x for x in every["matches"] if x["by"] == "best")
        self.assertEqual((best["a"]["system"], best["b"]["system"]), ("odd", "soon"))
        self.assertEqual(every["left_out"], [])
        with_pue = self.compare(*self.rounds, "--pue=2")
        self.assertEqual(with_pue["matches"][0]["ratio"], m["ratio"])
        self.assertEqual(with_pue["matches"][0]["a"]["facility"]["provenance"], "estimated")
        text = run("compare", *self.rounds).stdout.decode()
        self.assertIn("1 of A: open division", text)
        for line in text.splitlines():
            self.assertLessEqual(len(line), 80, line)

    def test_comparison_of_two_systems_of_one_round(self):
        c = self.compare(self.rounds[0], "--a=Other", "--b=box")
        self.assertEqual((c["matches"][0]["a"]["system"], c["matches"][0]["b"]["system"]), ("crate", "box"))
        self.assertEqual(run("compare", self.rounds[0]).returncode, 2)
        self.compare(self.rounds[0], "--a=odd", "--b=box", status=1)  # nothing may be compared

    def test_page(self):
        page = os.path.join(self.dir, "deep", "rounds.html")
        self.show(*self.rounds, "--html", page)
        with open(page, encoding="utf-8") as f:
            text = f.read()
        self.assertEqual(text.count("<g data-path="), 5)
        self.assertIn("Trend over the rounds", text)
        self.assertNotIn("<script", text)
        self.assertNotRegex(text, r"(src|href)='http")

    @unittest.skipIf(os.environ.get("JM_HAVE_YAML") == "0", "built without YAML")
    def test_nameplate_is_declared_and_divides_nothing(self):
        top = os.path.join(self.dir, "plates")
        tree = mlperftree.Tree(top, round="v6.1", submitter="ACME", system="box")
        s = tree.result("resnet50", "Offline", watts=100, seconds=20)
        tree.nameplate("box:\n- a:\n  Min PSUs Needed: 1\n  PSUs:\n  - PowerCapacityWatts: 400\n"
                       "  - PowerCapacityWatts: 300\n")
        d = self.json(top)
        self.assertEqual([(n["system"], n["submitter"], n["watts"], n["provenance"]) for n in d["nameplates"]],
                         [("box", "ACME", 400, "declared")])
        r = d["sessions"][0]
        self.assertEqual(r["design_power"], {"watts": 400, "provenance": "declared"})
        self.assertAlmostEqual(r["published"]["power_w"], s.watts, delta=1e-9)
        self.assertIn("nameplate         400.0 W, declared", self.show(top))
        shutil.rmtree(os.path.join(top, "closed", "ACME", "results"))
        self.assertIn("declared, not measured", self.show(top))

    def test_reported_values(self):
        root = self.rounds[0]
        s, watts = self.made["v4.1", "box"][0], self.made["v4.1", "box"][0].watts
        table = os.path.join(root, "summary.csv")
        location = os.path.relpath(s.path, root)
        crate = os.path.relpath(self.made["v4.1", "crate"][0].path, root)
        with open(table, "w", encoding="utf-8") as f:
            f.write("Organization,Location,Result,Units,has_power\n"
                    f"ACME,{location},100.0,Samples/s,True\nACME,{location},{watts!r},Watts,True\n"
                    f"Other,\"{crate}\",1{watts!r},Watts,True\n")
        self.addCleanup(os.remove, table)
        rows = {(r["round"], r["system"]): r["reported"] for r in self.rows()}
        self.assertEqual((rows["v4.1", "box"]["value"], rows["v4.1", "box"]["agrees"]), (watts, True))
        self.assertFalse(rows["v4.1", "crate"]["agrees"])
        self.assertIsNone(rows["v5.1", "box"])  # the same location, but another repository
        other = os.path.join(self.dir, "elsewhere.json")
        with open(other, "w", encoding="utf-8") as f:
            json.dump([{"Location": location, "Power_Result": 450.0, "Power_Units": "Watts"}], f)
        rows = {(r["round"], r["system"]): r["reported"] for r in self.rows("--reported", other)}
        self.assertEqual(rows["v5.1", "box"]["value"], 450.0)
        self.assertEqual(run("show", root, "--reported", "/nonexistent/t.csv").returncode, 4)


class Hostile(Base):
    def session(self, name="a"):
        tree = mlperftree.Tree(os.path.join(self.dir, name), round="v5.1")
        return tree.result("resnet50", "Offline", watts=100, seconds=20)

    def test_nothing_there(self):
        empty = tempfile.mkdtemp(dir=self.dir)
        r = run("show", empty)
        self.assertEqual((r.returncode, r.stdout), (4, b""))
        self.assertIn(b"no MLPerf result with power", r.stderr)
        self.assertEqual(run("show", os.path.join(empty, "x")).returncode, 4)
        path = os.path.join(empty, "file")
        open(path, "w").close()
        self.assertEqual(run("show", path).returncode, 2)

    def test_energy_beside_the_performance_of_a_tiny_result(self):
        top = os.path.join(self.dir, "tiny")
        result = os.path.join(top, "closed", "ACME", "results", "compiler", "board", "kws")
        for part in ("accuracy", "performance", "energy"):
            os.makedirs(os.path.join(result, part))
            with open(os.path.join(result, part, "results.txt"), "w", encoding="utf-8") as f:
                f.write("Power Edition Output\nEnergy data for trial 0\n  Elapsed time  : 12.0\n  Inferences    : 250\n"
                        "  Total Energy  : 61337.445 uJ\n  Energy/Inf    : 245.350 uJ/inf\n"
                        "Median energy cost is 245.3498 uJ/inf.\n" if part == "energy" else "Top 1% = 90.0\n")
        d = self.json(top)
        self.assertEqual([(t["system"], t["benchmark"], t["submitter"], t["published"]) for t in d["tiny"]],
                         [("compiler/board", "kws", "ACME", None)])
        self.assertEqual(d["found"]["without_power"], 0)
        text = self.show(top)
        self.assertRegex(text, r"result +kws\n")
        self.assertIn("claims a median of 245.3498 uJ", " ".join(text.split()))

    def test_many_empty_folders(self):
        many = tempfile.mkdtemp(dir=self.dir)
        for i in range(40):
            for k in range(50):
                os.makedirs(os.path.join(many, f"d{i}", f"e{k}"))
        r = run("show", many)
        self.assertEqual(r.returncode, 4)
        self.assertIn(b"2041 folders", r.stderr)

    def test_links(self):
        s = self.session("links")
        top = os.path.join(self.dir, "links")
        os.symlink("..", os.path.join(top, "loop"))
        os.symlink("/", os.path.join(top, "everything"))
        os.symlink(top, os.path.join(os.path.dirname(s.path), "again"))
        os.symlink("nowhere", os.path.join(top, "broken"))
        d = self.json(top)
        self.assertEqual([r["path"] for r in d["sessions"]], [s.path])
        self.assertEqual(d["found"]["links"], 4)
        # a link to a session is that session under another name; the session is read once for each name
        os.symlink("Offline", os.path.join(os.path.dirname(s.path), "SingleStream"))
        self.assertEqual([os.path.basename(r["path"]) for r in self.json(top)["sessions"]], ["Offline", "SingleStream"])

    def test_unreadable_and_broken(self):
        s, t = self.session("broken"), None
        tree = mlperftree.Tree(os.path.join(self.dir, "broken"), round="v5.1", system="second")
        t = tree.result("resnet50", "Offline", watts=100, seconds=20)
        with open(os.path.join(t.path, "performance", "run_1", "mlperf_log_detail.txt"), "w", encoding="utf-8") as f:
            f.write("nothing of use\n")
        os.makedirs(os.path.join(self.dir, "broken", "closed", "locked"))
        if os.geteuid():
            os.chmod(os.path.join(self.dir, "broken", "closed", "locked"), 0)
        with open(os.path.join(self.dir, "broken", "summary.csv"), "wb") as f:
            f.write(b"Location,Result,Units\n\"never ends")
        try:
            d = self.json(os.path.join(self.dir, "broken"))
        finally:
            os.chmod(os.path.join(self.dir, "broken", "closed", "locked"), stat.S_IRWXU)
        rows = {r["system"]: r for r in d["sessions"]}
        self.assertAlmostEqual(rows["box"]["published"]["metric"], s.watts, delta=1e-9)
        self.assertIsNone(rows["second"]["published"]["metric"])
        if os.geteuid():
            self.assertEqual(len(d["unread"]), 1)
        text = self.show(os.path.join(self.dir, "broken"))
        self.assertIn("–", text)

    def test_pipes_are_not_waited_on(self):
        for n, victim in enumerate(("performance/run_1/spl.txt", "performance/power/client.json",
                                    "performance/power/ptd_logs.txt", "performance/run_1/mlperf_log_detail.txt",
                                    "../../../../systems/box.json", "../../../../../../summary.csv")):
            top = os.path.join(self.dir, f"pipe{n}")
            s = self.session(f"pipe{n}")
            path = os.path.normpath(os.path.join(s.path, victim))
            if os.path.exists(path):
                os.remove(path)
            os.mkfifo(path)
            self.assertEqual(len(self.json(top)["sessions"]), 1, victim)

    def test_names_that_attack(self):
        bad = os.fsencode(self.dir) + b"/evil"
        os.makedirs(bad)
        s = self.session("source")
        name = b"\xff\xfe\x1b[31m,\"<script>alert(1)</script>\n=cmd'"
        shutil.copytree(os.fsencode(s.path), bad + b"/" + name)
        r = run("show", bad, "--sort=path", "--columns=path,system,metric")
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertNotIn(b"\x1b", r.stdout)
        r.stdout.decode()  # is UTF-8
        d = self.json(bad)
        self.assertIn("�", d["sessions"][0]["path"])
        page = os.path.join(self.dir, "evil.html")
        self.show(bad, "--html", page)
        with open(page, encoding="utf-8") as f:
            self.assertNotIn("<script>alert", f.read())
        rows = list(csv.reader(io.StringIO(self.show(bad, "--csv"), newline="")))
        self.assertEqual(len(rows), 2)
        self.assertEqual(len(rows[0]), len(rows[1]))

    def test_deep_tree(self):
        deep = tempfile.mkdtemp(dir=self.dir)
        fd = os.open(deep, os.O_RDONLY)
        for _ in range(80):
            os.mkdir("d" * 60, dir_fd=fd)
            nxt = os.open("d" * 60, os.O_RDONLY, dir_fd=fd)
            os.close(fd)
            fd = nxt
        os.close(fd)
        r = run("show", deep)
        self.assertEqual(r.returncode, 4)
        self.assertIn(b"not read", r.stderr)
        subprocess.run(["rm", "-rf", deep], check=True)

    def test_interrupt(self):
        top = os.path.join(self.dir, "cut")
        s = self.session("cut")
        for i in range(60):
            shutil.copytree(s.path, os.path.join(top, f"v5.1_copy_{i}"))
        with subprocess.Popen([JOULEMARK, "mlperf", "show", top, "--json", "--jobs=1"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as p:
            time.sleep(0.02)
            p.send_signal(signal.SIGINT)
            out, err = p.communicate(timeout=60)
        if p.returncode == -signal.SIGINT:
            return  # it came before the program caught it
        d = json.loads(out)
        if d["found"]["interrupted"]:
            self.assertEqual(p.returncode, 4)
            self.assertIn(b"interrupted", err)
        else:
            self.assertEqual(p.returncode, 0)


class Corpus(Base):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.corpus = os.path.join(os.environ["JM_BUILD"], "corpus", "mlperf")
        if not os.path.isdir(cls.corpus):
            raise unittest.SkipTest("the public data are not unpacked (make corpus)")

    def test_training_and_tiny_are_rows_of_their_own(self):
        """The figures of the public code, as the facts about these cases give them."""
        d = self.json(self.corpus)
        dell = next(t for t in d["training"] if "Dell" in t["path"])
        self.assertIsNone(dell["published"])  # eight of ten runs are not in the corpus
        self.assertEqual(sum(r["published"] is not None for r in dell["runs"]), 2)
        self.assertIn("Olympic", dell["why"])
        tiny = d["tiny"][0]
        self.assertEqual(len(tiny["windows"]), 5)
        self.assertAlmostEqual(tiny["windows"][0]["published"], 708284.51e-6, delta=1e-8)  # results.txt: 708284.51 uJ
        self.assertAlmostEqual(tiny["published"], 2833.138e-6, delta=1e-9)

    def test_published_values(self):
        with open(os.path.join(self.corpus, "expected.json"), encoding="utf-8") as f:
            expected = {e["case"]: e for e in json.load(f)}
        d = self.json(self.corpus)
        rows = {os.path.basename(r["path"]): r for r in d["sessions"]}
        sessions = {k: e for k, e in expected.items() if os.path.isdir(os.path.join(self.corpus, k, "performance"))}
        self.assertEqual(set(rows), set(sessions))
        self.assertEqual(len(rows), 17)
        for name, e in sessions.items():
            p = rows[name]["published"]
            self.assertAlmostEqual(p["metric"] / e["metric"], 1, delta=1e-9, msg=name)
            self.assertAlmostEqual(p["power_w"] / e["avg_W"], 1, delta=1e-9, msg=name)
            self.assertEqual(p["unit"], e["unit"], name)
            # the same quantity in the same unit, however it was inferred
            self.assertAlmostEqual(rows[name]["proper"]["metric"] / p["metric"], 1, delta=0.01, msg=name)
            if e["published"] is not None:
                self.assertEqual(rows[name]["reported"]["value"], e["published"])
                self.assertTrue(rows[name]["reported"]["agrees"], name)
            else:
                self.assertIsNone(rows[name]["reported"])


if __name__ == "__main__":
    tap.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""joulemark compare on the runs and the contract in examples/: verdicts, exit statuses, formats, refusals."""
import glob
import html.parser
import json
import os
import re
import shutil
import sqlite3
import subprocess
import tempfile
import unittest

import schema_test
import tap

JOULEMARK, EXAMPLES = os.environ["JOULEMARK"], os.path.join(os.environ["JM_SOURCE"], "examples")
A, B, CONTRACT = (os.path.join(EXAMPLES, n) for n in ("a.jmr", "b.jmr", "contract.yaml"))
SCHEMA = schema_test.load("compare")
YAML = "built without libyaml" not in subprocess.run([JOULEMARK, "compare", A, B, "-c", CONTRACT], capture_output=True, text=True).stderr


class Compare(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="compare_test.")
        self.addCleanup(shutil.rmtree, self.dir)

    def path(self, name, text=None):
        path = os.path.join(self.dir, name)
        if text is not None:
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
        return path

    def run_it(self, status, *args):
        r = subprocess.run([JOULEMARK, "compare", *args], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)
        self.assertEqual(r.returncode, status, (args, r.stdout, r.stderr))
        return r

    def doc(self, status, *args):
        doc = json.loads(self.run_it(status, *args, "--json").stdout, parse_constant=lambda c: self.fail(c))
        self.assertEqual(schema_test.check(doc, SCHEMA, root=SCHEMA), [])
        return doc

    def refused(self, part, *args):
        r = self.run_it(2, *args)
        self.assertFalse(r.stdout)
        self.assertIn(part, r.stderr)
        self.assertEqual(r.stderr.count("\n"), 1)

    def contract(self, more, name="c.yaml"):
        return self.path(name, "unit: output_token\nboundary: gpu\n" + more)

    def test_without_a_contract(self):
        doc = self.doc(0, A, B)
        self.assertEqual(doc["verdict"], "lower")
        one = doc["candidates"][0]
        self.assertAlmostEqual(one["saving"], 0.0566, delta=0.01)  # steps of 1/1.06 of the time
        self.assertEqual((one["n"], one["floor"]["source"], one["gain_cancels"]), (6, "repeats", True))
        self.assertTrue(doc["simulated"])
        self.assertEqual(self.doc(0, B, A)["verdict"], "higher")
        wide = self.doc(0, A, B, "--margin", "20 %", "--boundary", "gpu", "--unit", "request_ok")
        self.assertEqual((wide["metric"], wide["boundary"]), ("j_per.request_ok", "gpu"))
        # three pairs of A against A are few, and their floor is high
        aa = self.doc(1, A, B, "--aa", A)
        self.assertEqual((aa["candidates"][0]["floor"]["source"], aa["candidates"][0]["floor"]["n"]), ("aa", 3))
        self.assertIn("A against A", aa["sentence"])
        self.refused("is a run of B, a candidate", A, B, "--aa", B)
        self.refused("is there twice", A, B, "--aa", A, "--aa", A)

    @unittest.skipUnless(YAML, "built without libyaml")
    def test_contract(self):
        doc = self.doc(0, A, B, "--contract", CONTRACT)
        self.assertEqual(doc["verdict"], "accept")
        self.assertEqual({c["state"] for c in doc["candidates"][0]["clauses"]}, {"met"})
        self.assertIn("up-to", [n["id"] for n in doc["candidates"][0]["notes"]])
        self.assertEqual(self.doc(1, B, A, "-c", CONTRACT)["verdict"], "reject")
        self.assertEqual(self.doc(1, A, B, "-c", self.contract("minimum-saving: 5.8 %\n"))["verdict"], "not resolvable")
        self.assertEqual(self.doc(1, A, B, "-c", self.contract("minimum-saving: 12 %\n"))["verdict"], "reject")
        self.assertEqual(self.doc(1, A, B, "-c", self.contract("minimum-saving: 3 %\npairs: 7\n"))["verdict"], "not resolvable")
        self.assertEqual(self.doc(3, A, B, "-c", self.path("w.yaml", "unit: output_token\nboundary: wall\nminimum-saving: 1 %\n"))
                         ["verdict"], "not comparable")
        scores = [self.path(n, "request,score\n" + "".join(f"{i},{v + 0.01 * (i % 2)}\n" for i in range(200)))
                  for n, v in (("a.csv", 0.8), ("b.csv", 0.7))]
        worse = self.contract("minimum-saving: 3 %\nquality: {allowed-loss: 1 %}\n")
        both = ("-c", worse, "--quality", scores[0], "--quality")
        self.assertEqual(self.doc(0, A, B, *both, scores[0])["verdict"], "accept")
        self.assertIn("of the quality", self.doc(1, A, B, *both, scores[1])["sentence"])

    @unittest.skipUnless(YAML, "built without libyaml")
    def test_contract_refused(self):
        self.refused("line 3, column 17", A, B, "-c", self.contract("minimum-saving: 3\n"))
        self.refused("contradictory limits", A, B, "-c",
                     self.contract("minimum-saving: 3 %\nslos:\n  - {ttft: 5 s, e2e: 1 s}\n"))
        self.refused("a lower power can take longer", A, B, "-c", self.path("p.yaml", "unit: power\n"))
        self.refused("leave it out", A, B, "-c", CONTRACT, "--unit", "output_token")
        self.refused("nothing that is compared", A, B, "-c", self.contract("minimum-saving: 3 %\ndiffers: [moon]\n"))

    def test_formats(self):
        text = self.run_it(0, A, B, "--color", "never").stdout
        self.assertTrue(text.startswith("lower: B takes "), text)
        self.assertIn("SIMULATED", text)
        self.assertLessEqual(max(map(len, text.splitlines())), 80)
        plain = self.run_it(0, A, B, "--ascii", "--all").stdout
        self.assertTrue(plain.isascii(), plain)
        self.assertLessEqual(max(map(len, plain.splitlines())), 80)
        self.assertIn("\x1b[", self.run_it(0, A, B, "--color", "always").stdout)
        md = self.run_it(0, A, B, "-f", "markdown").stdout
        self.assertTrue(md.startswith("**lower: B takes "), md)
        for table in re.findall(r"(?m)(?:^\|.*\n)+", md):
            self.assertEqual(len({line.replace("\\|", "").count("|") for line in table.splitlines()}), 1, table)
        page = self.path("x.html")
        self.assertEqual(self.run_it(0, A, B, "-f", "html", "-o", page).stdout, "")
        with open(page, encoding="utf-8") as f:
            page = f.read()
        stack, void = [], {"meta", "link", "line", "rect", "circle", "br"}

        class Nested(html.parser.HTMLParser):
            def handle_starttag(self, tag, attrs):
                if tag not in void:
                    stack.append(tag)

            def handle_endtag(self, tag):
                if tag not in void:
                    assert stack.pop() == tag, tag

        Nested().feed(page)
        self.assertEqual(stack, [])
        self.assertEqual(page.count("<circle"), 7)

    def test_several_files_and_candidates(self):
        for name in ("a", "b"):
            os.mkdir(self.path(name))
            shutil.copy(os.path.join(EXAMPLES, name + ".jmr"), self.path(name))
        self.assertEqual(self.doc(0, self.path("a"), os.path.join(self.dir, "b", "*.jmr"))["verdict"], "lower")
        self.refused("are the same run twice on one side", A + "," + self.path("a"), B)
        self.refused("the same run", A, self.path("a"))
        self.refused("the same run", A, A)
        os.mkdir(self.path("empty"))
        self.refused("no run file", A, self.path("empty"))

    def relabelled(self, source, name, *more):
        """A copy under another name: its id, label and serial edited, and whatever else is said."""
        path = self.path(name)
        shutil.copy(source, path)
        with sqlite3.connect(path) as db:
            for sql in (f"UPDATE run SET run_id = '{name}', label = '{name}'", *more):
                db.execute(sql)
        db.close()
        return path

    def test_copies_under_another_name(self):
        twice = "hold the same measurement under two names"
        c = self.relabelled(B, "c.jmr")
        for args in ((A, B, c), (A, B + "," + c), (A, self.relabelled(A, "d.jmr")), (A, B, "--aa", c)):
            self.refused(twice, *args)
        self.doc(1, A, B, "--aa", self.relabelled(A, "e.jmr"))  # A may be what A against A is taken from
        # windows cut, another clock, other facts: the times of the requests remain; without them, the readings
        edit = ("UPDATE \"window\" SET t1 = t1 - 1000000000, t0 = t0 + 500000000 WHERE role = 'measure'",
                "UPDATE clock_pair SET real = real + 3600000000000", "DELETE FROM \"window\" WHERE id > 4")
        self.refused("requests took", A, B, self.relabelled(B, "f.jmr", *edit))
        edit = tuple("DELETE FROM " + t for t in ("request", "request_chunk", "token_chunk"))
        self.refused("stretches of readings", A, B, self.relabelled(B, "g.jmr", *edit))

    def test_what_a_vendor_may_choose(self):
        def notes(doc):
            return {n["id"]: n["text"] for n in doc["candidates"][0]["notes"]}
        def env(key, value):
            return f"INSERT OR REPLACE INTO env VALUES('{key}', '{value}')"
        # the best trials, the best part of them
        best = self.relabelled(B, "best.jmr", "DELETE FROM \"window\" WHERE id > 4")
        part = self.relabelled(B, "part.jmr", "UPDATE \"window\" SET t1 = t1 - 1000000000 WHERE name = 'trial 3 of 6'")
        for b, text in ((best, "trials 5, 6 of 6 are not in"), (part, "of the 6 s that were planned")):
            self.assertIn(text, notes(self.doc(0, A, b))["trials.chosen"])
            if YAML:
                doc = self.doc(1, A, b, "-c", self.contract("minimum-saving: 0 %\n"))
                self.assertEqual(doc["verdict"], "not resolvable")
                self.assertIn(text, doc["sentence"])
        # two engines as one side: no declaration makes them one
        late = (("DELETE FROM \"window\" WHERE id > 3",), ("DELETE FROM \"window\" WHERE id <= 3 OR id > 6", "UPDATE \"window\" SET trial = trial - 3, id = id - 4"))
        b = [self.relabelled(B, f"half{i}.jmr", *late[i], env("endpoint.version", f"{i}.0")) for i in (0, 1)]
        self.assertIn("engine version", self.doc(3, A, ",".join(b), "--differs", "engine.version")["sentence"])
        # tokens qualified by a looser objective of one's own
        a, b = (self.relabelled(x, n, env("contract.ttft_s", v)) for x, n, v in ((A, "qa.jmr", "0.05"), (B, "qb.jmr", "5")))
        self.assertIn("objectives in the files", self.doc(3, a, b, "--unit", "qualified_token")["sentence"])
        self.assertEqual(self.doc(0, a, b, "--unit", "qualified_token", "--slo-ttft", "5s")["verdict"], "lower")
        # scores of the best answers; a contract loosened where it is held
        if YAML:
            scores = [self.path(n, "score\n" + f"{0.8}\n{0.81}\n" * k) for n, k in (("sa.csv", 100), ("sb.csv", 10))]
            doc = self.doc(0, A, B, "-c", CONTRACT, "--differs", "lengths", "--quality", scores[0], "--quality", scores[1])
            self.assertIn("A has 200 scores and B 20", notes(doc)["quality"])
            self.assertIn("not in the contract: lengths", notes(doc)["differs"])

    def test_refusals(self):
        self.refused("is not one of text, json, markdown, html", A, B, "-f", "pdf")
        self.refused("did you mean \"clocks.sm\"", A, B, "--differs", "clock.sm")
        self.refused("--quality: 1 file for 2 sides", A, B, "--quality", CONTRACT)
        self.refused("--margin", A, B, "--margin", "2")
        self.refused("counts what failed as work", A, B, "--unit", "request_any")
        self.refused("not one of gpu", A, B, "--boundary", "facility")
        self.refused("--quality", A, B, "--quality", CONTRACT, "--quality", CONTRACT)
        r = self.run_it(4, A, self.path("absent.jmr"))
        self.assertEqual((r.stdout, r.stderr.count("\n")), ("", 1))
        self.run_it(2, A)
        shutil.copy(A, self.path("out.jmr"))
        self.run_it(4, A, B, "-o", self.path("out.jmr"))
        with open(A, "rb") as f, open(self.path("out.jmr"), "rb") as g:
            self.assertEqual(f.read(), g.read())

    def test_examples_are_small_and_sealed(self):
        for path in glob.glob(os.path.join(EXAMPLES, "*.jmr")):
            self.assertLess(os.path.getsize(path), 400000)
            doc = json.loads(subprocess.run([JOULEMARK, "show", path, "--json"], capture_output=True, text=True).stdout)
            self.assertTrue(doc["run"]["simulated"] and doc["run"]["sha256"])


if __name__ == "__main__":
    tap.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pictures from the command line: every file is XML by another parser, bounded, and asks for nothing from elsewhere."""
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree as xml

import tap

JOULEMARK = os.environ["JOULEMARK"]
SVG = "{http://www.w3.org/2000/svg}"


class Pictures(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.mkdtemp(prefix="pictures_test.")
        for n, load in ("a", "0.3"), ("b<i>&\"", "0.9"):
            cls.call("sim", "node", "--minutes", "0.3", "--gpus", "4", "--load", load, "-o", cls.path(n + ".jmr"))
        cls.hours = cls.path("hours.csv")
        with open(cls.hours, "w") as f:
            f.write("zone,start,end,value,unit,kind,source\n"
                    "FR,2026-01-01T00:00Z,2026-01-01T01:00Z,36,gCO2/kWh,generation,grid <b>operator</b>\n"
                    "FR,2026-01-01T01:00Z,2026-01-01T02:00Z,40,gCO2/kWh,generation,grid <b>operator</b>\n")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.dir)

    @classmethod
    def path(cls, name):
        return os.path.join(cls.dir, name)

    @classmethod
    def call(cls, *args, status=0, env=None):
        r = subprocess.run([JOULEMARK, *args], capture_output=True, timeout=60, stdin=subprocess.DEVNULL,
                           env=dict(os.environ, **(env or {})))
        assert r.returncode == status, (args, r.returncode, r.stderr, r.stdout[-1000:])
        return r.stderr.decode() if status else r.stdout

    def test_files(self):
        """report --pictures of two runs: what there is data for, and a sentence for the rest"""
        a, b, out = self.path("a.jmr"), self.path("b<i>&\".jmr"), self.path("p/q")
        r = subprocess.run([JOULEMARK, "report", a, b, "--pue", "1.3", "--factors", self.hours, "--slo-tpot", "30ms", "-o",
                            self.path("a.html"), "--pictures", out], capture_output=True, text=True, timeout=60)
        self.assertEqual(r.returncode, 0, r.stderr)
        listed = r.stdout.splitlines()
        self.assertEqual(listed[0], self.path("a.html"))
        names = {os.path.basename(p) for p in listed[1:]}
        self.assertEqual(names, set(os.listdir(out)))
        self.assertLessEqual({"frontier.svg", "waterfall.svg", "power.svg", "carbon.svg"}, names)
        self.assertIn("one trial", r.stderr)
        for name in names:
            with open(os.path.join(out, name), "rb") as f:
                data = f.read()
            if name.endswith(".png"):
                self.assertEqual(data[:8], b"\x89PNG\r\n\x1a\n")
                continue
            self.assertLess(len(data), 300000)
            root = xml.fromstring(data)
            self.assertEqual(root.tag, SVG + "svg")
            self.assertTrue(root.find(SVG + "title").text and root.find(SVG + "desc").text)
            self.assertIn("SIMULATED", root.find(SVG + "title").text)
            self.assertEqual([e.tag for e in root.iter() if e.tag.endswith(("script", "image", "foreignObject", "b", "i"))], [])
            self.assertNotRegex(data.decode().replace("http://www.w3.org/2000/svg", ""), r"https?:|url\((?!#)|href")
            self.assertIn(b"prefers-color-scheme:dark", data)
        with open(os.path.join(out, "frontier.svg")) as f:
            self.assertIn("b&lt;i&gt;&amp;&quot;", f.read())
        # one page: ids are there once, the picture that compares has both runs
        with open(self.path("a.html")) as f:
            page = f.read()
        ids = re.findall(r" id='([^']*)'", page)
        self.assertEqual(len(ids), len(set(ids)))
        self.assertIn("b&lt;i&gt;&amp;&quot;", page)
        self.assertNotIn("<b>operator", page)

    def test_carbon_adds_up(self):
        """36 g/kWh in the one hour: the picture's text has the total that show has"""
        run = self.path("a.jmr")
        svg = xml.fromstring(self.call("show", run, "--factors", self.hours, "--picture", "carbon"))
        told = json.loads(self.call("show", run, "--factors", self.hours, "--json"))
        grams = [i["value"] for i in told["impacts"] if i["metric"] == "carbon.location"]
        said = re.search(r"1 of 1 hours have a factor, ([\d.]+) gCO2 in", svg.find(SVG + "desc").text)
        self.assertTrue(said, svg.find(SVG + "desc").text)
        self.assertAlmostEqual(float(said.group(1)) / grams[0], 1, places=3)

    def test_one(self):
        run = self.path("a.jmr")
        for theme in "light", "dark":
            out = self.call("show", run, "--picture", "waterfall", "--theme", theme).decode()
            self.assertNotIn("@media", out)
        self.assertIn("one trial", self.call("show", run, "--picture", "trials", status=1))
        self.assertIn("frontier, waterfall", self.call("show", run, "--picture", "pie", status=2))
        self.assertIn("one run is shown at a time", self.call("show", run, run, status=2))
        self.assertIn("is of one run, and 2 are given", self.call("show", run, run, "--picture", "power", status=2))
        self.assertIn("is neither", self.call("show", run, "--picture", "power", "-o", self.path("x.PDF"), status=2))
        self.assertIn("run file", self.call("show", run, "--picture", "waterfall", "-o", run, status=4))
        # neither the module nor the program: a sentence, and SVG all the same
        nothing = {"JM_MODULE_DIR": self.dir, "PATH": self.dir}
        said = self.call("show", run, "--picture", "waterfall", "-o", self.path("x.png"), status=4, env=nothing)
        self.assertIn("rsvg-convert", said)
        self.assertFalse(os.path.exists(self.path("x.png")))
        self.call("show", run, "--picture", "waterfall", "-o", self.path("x.svg"), env=nothing)
        self.assertEqual([n for n in os.listdir(self.dir) if ".part" in n or n.startswith("x.png")], [])


if __name__ == "__main__":
    tap.main()

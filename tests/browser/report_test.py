# SPDX-License-Identifier: Apache-2.0
"""The HTML report in a real browser: no script error, no request to a network, figures equal to the JSON."""
import html
import html.parser
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import tap

JOULEMARK = os.environ["JOULEMARK"]
BUILD = os.environ["JM_BUILD"]
BROWSER = next((b for b in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if b), None)
SESSION = os.path.join(BUILD, "corpus", "mlperf", "v4.1_NVIDIA_H200_llama2-70b-99_Server")


class Cells(html.parser.HTMLParser):
    """Every element with data-value: (metric, boundary) of its row, or the id of the element."""

    def __init__(self):
        super().__init__()
        self.values, self.text, self.svg = [], [], 0

    def handle_starttag(self, tag, attrs):
        a = dict(attrs)
        self.svg += tag == "svg"
        if "data-value" in a:
            self.values.append((a.get("data-metric") or a.get("id"), a.get("data-boundary"), float(a["data-value"])))


def browse(page, folder, *more):
    net = os.path.join(folder, "net.json")
    done = subprocess.run(
        [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-extensions", "--disable-dev-shm-usage", "--enable-logging=stderr",
         "--v=0", "--log-net-log=" + net, "--user-data-dir=" + os.path.join(folder, "profile"), "--virtual-time-budget=3000",
         "--window-size=1200,1800", *more, "--dump-dom", "file://" + page],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", errors="replace", timeout=120, check=False)
    with open(net, encoding="utf-8", errors="replace") as f:
        log = f.read()
    # (what the browser asked for it, url): its own requests carry other annotations than those of a page
    return done.stdout, done.stderr, set(re.findall(r'"traffic_annotation":(\d+),"url":"(https?:[^"]+)"', log))


@unittest.skipUnless(BROWSER, "no Chromium")
class Report(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="browser-", dir=".")
        cls.file = os.path.abspath(os.path.join(cls.folder, "run.jmr"))
        if not os.path.isdir(SESSION):
            raise unittest.SkipTest("no public test data (make corpus)")
        subprocess.run([JOULEMARK, "import", SESSION, "-o", cls.file], check=True, stdout=subprocess.DEVNULL)
        cls.page = os.path.abspath(os.path.join(cls.folder, "report.html"))
        subprocess.run([JOULEMARK, "report", cls.file, "-o", cls.page], check=True, stdout=subprocess.DEVNULL)
        cls.json = json.loads(subprocess.run([JOULEMARK, "show", cls.file, "--json"], check=True, stdout=subprocess.PIPE).stdout)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder, ignore_errors=True)

    def test_no_script_error_and_no_network(self):
        leak = os.path.join(self.folder, "leak.html")
        with open(leak, "w", encoding="utf-8") as f:
            f.write("<!doctype html><img src='http://127.0.0.1:9/leak.png'><script>nothing()</script>")
        _, err, urls = browse(os.path.abspath(leak), self.folder)
        of_pages = {a for a, u in urls if u.endswith("/leak.png")}
        self.assertTrue(of_pages, "a page that asks the network must be seen to do so")
        self.assertTrue(any("CONSOLE" in line for line in err.splitlines()), "a script error must be seen")
        dom, err, urls = browse(self.page, self.folder)
        self.assertTrue(dom.rstrip().endswith("</html>"))
        self.assertEqual([line for line in err.splitlines() if "CONSOLE" in line], [])
        self.assertEqual({u for a, u in urls if a in of_pages}, set())

    def test_figures_equal_the_json(self):
        dom, _, _ = browse(self.page, self.folder)
        cells = Cells()
        cells.feed(dom)
        known = {(r["metric"], r["boundary"]): r["value"] for r in self.json["results"]}
        seen = 0
        for metric, boundary, value in cells.values:
            if boundary:
                self.assertEqual(value, known[(metric, boundary)])
                seen += 1
        self.assertGreaterEqual(seen, 5)
        headline = [v for m, _, v in cells.values if m == "headline"]
        self.assertEqual(headline, [known[("j_per.output_token", "wall")]])

    def test_charts_are_there_without_script(self):
        with open(self.page, encoding="utf-8") as f:
            cells = Cells()
            cells.feed(f.read())
        self.assertGreaterEqual(cells.svg, 2)

    def test_zoom_draws_where_the_chart_is_built_in(self):
        with open(self.page, encoding="utf-8") as f:
            text = f.read()
        if "power-zoom" not in text:
            self.skipTest("built without npm")
        opened = self.page.replace(".html", ".open.html")
        with open(opened, "w", encoding="utf-8") as f:
            f.write(text.replace("id='power-zoom'", "id='power-zoom' open"))
        dom, err, _ = browse(opened, self.folder)
        self.assertTrue('class="u-wrap live' in dom and "<canvas" in dom)
        self.assertEqual([line for line in err.splitlines() if "CONSOLE" in line], [])


@unittest.skipUnless(BROWSER, "no Chromium")
class Wall(unittest.TestCase):
    """From the wall to the GPU, and groups: two simulated hosts as one run."""

    def test_page(self):
        with tempfile.TemporaryDirectory(prefix="browser-", dir=".") as folder:
            at = {n: os.path.abspath(os.path.join(folder, n)) for n in ("a.jmr", "b.jmr", "m.jmr", "m.html")}

            def joulemark(*args):
                done = subprocess.run([JOULEMARK, *args], stdout=subprocess.PIPE, check=False)
                self.assertIn(done.returncode, (0, 3))
                return done.stdout

            for n, host in ("a.jmr", "nodea"), ("b.jmr", "nodeb"):
                joulemark("sim", "node", "--minutes", "0.2", "--gpus", "4", "--host", host, "-o", at[n])
            joulemark("merge", at["a.jmr"], at["b.jmr"], "-o", at["m.jmr"], "-g", "pre=nodea", "-g", "dec=nodeb", "--role", "pre=prefill")
            joulemark("report", at["m.jmr"], "-o", at["m.html"])
            told = json.loads(joulemark("show", at["m.jmr"], "--json"))
            dom, err, _ = browse(at["m.html"], folder)
            self.assertEqual([line for line in err.splitlines() if "CONSOLE" in line], [])
            self.assertIn('id="pic-waterfall"', dom)
            parts = {k: re.search(r'<section id="%s">(.*?)</section>' % k, dom, re.S).group(1) for k in ("reconcile", "groups")}
            rows = re.findall(r"<tr><td style", parts["reconcile"])
            self.assertEqual(len(rows), len(told["reconcile"]["rows"]))
            for row in told["reconcile"]["rows"]:
                self.assertIn(html.escape(row["label"]), parts["reconcile"])
            for g in told["groups"]:
                self.assertIn("<td>%s</td><td>%s</td>" % (g["name"], g["role"]), parts["groups"])
            legend = re.search(r"<ul class=.legend.>(.*?)</ul>", dom, re.S).group(1)
            self.assertIn("inlet nodea power", legend)  # of a dozen lines the wall is the first
            self.assertIn("node nodeb power", legend)


@unittest.skipUnless(BROWSER, "no Chromium")
class Rounds(unittest.TestCase):
    """The page of joulemark mlperf show --html."""

    def test_page(self):
        corpus = os.path.join(BUILD, "corpus", "mlperf")
        if not os.path.isdir(corpus):
            self.skipTest("no public test data (make corpus)")
        with tempfile.TemporaryDirectory(prefix="browser-", dir=".") as folder:
            page = os.path.abspath(os.path.join(folder, "rounds.html"))
            told = json.loads(subprocess.run([JOULEMARK, "mlperf", "show", corpus, "--json", "--html", page], check=True,
                                             stdout=subprocess.PIPE).stdout)
            dom, err, urls = browse(page, folder)
            self.assertTrue(dom.rstrip().endswith("</html>"))
            self.assertEqual([line for line in err.splitlines() if "CONSOLE" in line], [])
            self.assertEqual([u for _, u in urls if "rounds" in u], [])
            rows = re.findall(r'<tr data-path="([^"]*)">(.*?)</tr>', dom, re.S)
            self.assertEqual([html.unescape(path) for path, _ in rows], [s["path"] for s in told["sessions"]])
            for (_, row), s in zip(rows, told["sessions"]):
                metric = float(re.search(r'data-value="([^"]*)"', row).group(1))
                self.assertEqual(metric, s["published"]["metric"])
            bars = sum(s["published"]["tokens_per_j"] is not None or s["published"]["samples_per_j"] is not None
                       for s in told["sessions"])
            self.assertEqual(dom.count("<g data-path="), bars)


if __name__ == "__main__":
    tap.main()

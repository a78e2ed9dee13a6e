#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""joulemark factors: what is listed, sized and asked for once."""
import base64
import http.server
import json
import os
import subprocess
import tempfile
import threading
import unittest

import tap

JOULEMARK = os.environ["JOULEMARK"]
DAY = ("--since", "2026-03-29T00:00Z", "--until", "2026-03-29T01:00Z")
UK = {"data": [{"from": "2026-03-29T00:00Z", "to": "2026-03-29T01:00Z", "intensity": {"forecast": 90, "actual": 100, "index": "low"}}]}
EMAPS = {"zone": "FR", "data": [{"zone": "FR", "carbonIntensity": 20, "datetime": "2026-03-29T00:00:00.000Z",
                                 "emissionFactorType": "direct", "isEstimated": False}]}


def run(*args):
    return subprocess.run([JOULEMARK, "factors", *args], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)


class Service(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.seen.append((self.path, dict(self.headers)))
        status, body = self.server.logins.pop(0) if self.path == "/login" else self.server.answer
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


class Fetch(unittest.TestCase):
    def setUp(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Service)
        self.server.seen, self.server.answer, self.server.logins = [], (200, UK), []
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)
        self.token = os.path.join(self.dir.name, "token")
        with open(self.token, "w", encoding="ascii") as f:
            f.write("s3cr3t-token\n")

    def ask(self, what, *args, status=0):
        r = run("--fetch", what, *DAY, "--cache", os.path.join(self.dir.name, "store"), "--base",
                f"http://127.0.0.1:{self.server.server_port}", "--json", *args)
        self.assertEqual(r.returncode, status, r.stderr)
        self.assertNotIn("s3cr3t", r.stdout + r.stderr)
        return json.loads(r.stdout) if not status else r.stderr

    def test_asked_once_and_read_ever_after(self):
        first = self.ask("uk")
        self.assertEqual(self.server.seen[0][0], "/intensity/2026-03-29T00:00Z/2026-03-29T01:00Z")
        self.assertEqual((first["factors"][0]["steps"][0]["value"], first["factors"][0]["scope2"]), (100, True))
        self.server.answer = (500, b"")
        self.assertEqual(self.ask("uk"), first)
        self.assertEqual(self.ask("uk", "--offline"), first)
        self.assertEqual(len(self.server.seen), 1)

    def test_a_token_goes_to_the_service_alone(self):
        self.server.answer = (200, EMAPS)
        self.assertIn("--token-file", self.ask("emaps:FR", status=2))
        self.assertEqual(self.ask("emaps:FR", "--token-file", self.token)["factors"][0]["kind"], "generation")
        self.assertEqual(self.server.seen[0][1]["auth-token"], "s3cr3t-token")
        self.server.answer = (401, b"no")
        for what in ("entsoe:10YFR-RTE------C", "watttime:CAISO_NORTH"):
            self.assertIn("401", self.ask(what, "--token-file", self.token, status=4))
        self.assertIn("securityToken=s3cr3t-token", self.server.seen[1][0])
        self.assertEqual(self.server.seen[2][1]["Authorization"], "Bearer s3cr3t-token")
        self.ask("entsoe-prices:10YFR-RTE------C", "--token-file", self.token, status=4)
        self.assertIn("documentType=A44&in_Domain=10YFR-RTE------C&out_Domain=10YFR-RTE------C&", self.server.seen[3][0])
        stored = os.listdir(os.path.join(self.dir.name, "store"))
        self.assertEqual(stored, ["emaps-FR-202603290000-202603290100.json"])

    def test_watttime_logs_in(self):
        """docs.watttime.org: GET /login with Basic gives {"token"}, which goes as Bearer with the question."""
        with open(self.token, "w", encoding="ascii") as f:
            f.write("alice:s3cr3t:word\n")
        self.server.answer = (200, {"data": [{"point_time": "2026-03-29T00:%02d:00+00:00" % m, "value": 900.0} for m in range(0, 60, 5)],
                                    "meta": {"region": "CAISO_NORTH", "signal_type": "co2_moer", "units": "lbs_co2_per_mwh",
                                             "data_point_period_seconds": 300}})
        self.server.logins = [(403, b"no"), (200, {"nothing": 1}), (200, {"token": "abc.s3cr3t.def"})]
        for says in ("403", "without a token"):
            self.assertIn(says, self.ask("watttime:CAISO_NORTH", "--token-file", self.token, status=4))
        self.assertEqual({path for path, _ in self.server.seen}, {"/login"})
        (f,) = self.ask("watttime:CAISO_NORTH", "--token-file", self.token)["factors"]
        self.assertTrue(f["marginal"] and not f["scope2"])
        (_, login), (path, asked) = self.server.seen[-2:]
        self.assertEqual(login["Authorization"], "Basic " + base64.b64encode(b"alice:s3cr3t:word").decode())
        self.assertTrue(path.startswith("/v3/historical?region=CAISO_NORTH&"))
        self.assertEqual(asked["Authorization"], "Bearer abc.s3cr3t.def")

    def test_what_is_no_answer_is_not_stored(self):
        for body in (b"", b"<html>", {"error": {"message": "too many requests"}}, {"data": []}):
            self.server.answer = (200, body)
            self.assertIn("nothing was stored", self.ask("uk", status=2 if isinstance(body, dict) and "error" in body else 4))
        self.assertIn("is not stored", self.ask("uk", "--offline", status=4))
        self.assertFalse(os.path.exists(os.path.join(self.dir.name, "store")))

    def test_bad_questions(self):
        for args, says in ((("--fetch", "uk"), "--since"), (("--fetch", "nobody", *DAY), "not one of"),
                           (("--fetch", "emaps", *DAY), "not one of"), (("--fetch", "emaps:../x", *DAY), "letters"),
                           (("--fetch", "uk", "--since", "2026-03-29T00:00Z", "--until", "2099-01-01T00:00Z"), "14 days"),
                           (("--fetch", "emaps:FR", "--since", "2026-03-01T00:00Z", "--until", "2026-03-12T00:00Z"), "10 days"),
                           (("--fetch", "uk", "--since", "yesterday", "--until", "2026-03-29T00:00Z"), "--since")):
            r = run(*args)
            self.assertEqual(r.returncode, 2, r.stderr)
            self.assertIn(says, r.stderr)


class Kept(unittest.TestCase):
    def test_a_run_keeps_what_it_was_given(self):
        """The same money and carbon again, without the options; one that is given takes the place of what is kept of its sort."""
        with tempfile.TemporaryDirectory() as d:
            hours = os.path.join(d, "h.csv")
            with open(hours, "w", encoding="ascii") as f:
                f.write("what,zone,start,end,value,unit,kind\ncarbon,SE,2020-01-01T00:00Z,2090-01-01T00:00Z,20,g/kWh,generation\n")
            given = ["--carbon", "FR,DE=690g/kWh@2024:generation:residual", "--price", "FR=0.058", "--factors", hours, "--wue",
                     "1.8,period=2025,source=a report, page 4",
                     "--pue", "1.4,period=2025,category=2,source=a report, page 3", "--embodied", "1312kg,life=4y,share=0.5,source=x"]
            file = os.path.join(d, "r.jmr")

            def joulemark(*args, status=0):
                r = subprocess.run([JOULEMARK, *args], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)
                self.assertEqual(r.returncode, status, r.stderr)
                return r

            r = joulemark("run", "-m", "null", "-o", file, "--carbon", "FR=40", "--", "true", status=125)
            self.assertIn("without a unit", r.stderr)
            self.assertFalse(os.path.exists(file))
            sim = os.path.join(os.environ["JM_BUILD"], "sim", "joulemark-sim")
            r = subprocess.run([sim, "gpu", "--gpus", "1", "--waveform", "const:300W", "--", JOULEMARK, "run", "-q", "-m", "nvml", "-o", file,
                                "--summary", d + "/s.json", "--json", *given, "--", "sleep", "0.5"], capture_output=True, text=True, timeout=60)
            self.assertEqual(r.returncode, 0, r.stderr)
            os.unlink(hours)
            said = json.load(open(d + "/s.json", encoding="utf-8"))
            again = json.loads(joulemark("show", file, "--json", status=3).stdout)
            self.assertEqual(len(said["factors"]), 4)
            self.assertEqual([said[k] for k in ("factors", "impacts", "impact_note", "results")],
                             [again[k] for k in ("factors", "impacts", "impact_note", "results")])
            other = json.loads(joulemark("show", file, "--json", "--price", "DE=0.2", status=3).stdout)
            self.assertEqual([(f["what"], f["zone"]) for f in other["factors"]],
                             [("price", "DE"), ("carbon", "SE"), ("carbon", "FR"), ("carbon", "DE")])
            page = joulemark("show", file, "--format", "markdown", status=3).stdout
            self.assertIn("## Money and carbon", page)
            self.assertRegex(page, r"\n\| FR \| 0\.05800 EUR \| – \| – \| life-cycle, \d{4} \| 56\.04 gCO2e \|")
            self.assertIn("Ember", page)


    def test_money_of_more_than_one_kind_and_below_nothing(self):
        """An hourly market pays for a draw now and then; each row says its currency; what --wue lacks is said."""
        run_file = os.path.join(os.environ["JM_SOURCE"], "examples", "a.jmr")
        r = subprocess.run([JOULEMARK, "show", run_file, "--price", "FR=-0.02,DE=0.1USD/kWh", "--wue", "1.8"], capture_output=True,
                           text=True, stdin=subprocess.DEVNULL, timeout=60)
        text = " ".join(r.stdout.split())
        self.assertRegex(text, r"FR, EUR -0\.02000 -0\.00\d+ DE, USD 0\.1000 0\.01\d+ A year")
        self.assertRegex(text, r"FR -\d\d EUR; DE \d{3} USD")
        self.assertNotIn("sci has no value", text)
        r = subprocess.run([JOULEMARK, "show", run_file, "--carbon", "FR=300g/kWh@2024:marginal", "--embodied", "1312kg,life=4y"],
                           capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)
        unused = subprocess.run([JOULEMARK, "show", run_file, "--pue", "1.4"], capture_output=True, text=True, timeout=60)
        self.assertIn("the PUE was not used", unused.stdout)
        page = subprocess.run([JOULEMARK, "show", run_file, "-f", "html", "--carbon", "FR=40g/kWh@2024:generation", "--embodied",
                               "1312kg,life=4y"], capture_output=True, text=True, timeout=60).stdout
        self.assertRegex(page, r"<p>A year at this power, 8,760 h \(extrapolated\): [\d,]+ kWh; FR \d+ kg</p>")
        self.assertIn("<p>sci.per_mtok FR: ", page)
        self.assertIn("sci has no value: it takes the mean of the grid", " ".join(r.stdout.split()))
        self.assertIn("water.site has no value: --wue is of a kilowatt-hour at the wall", text)
        self.assertNotIn("unknown EUR", run("--power", "5600W", "--tokens-per-second", "2800", "--price", "FR=-0.02").stdout)


class Size(unittest.TestCase):
    def test_the_guides_node(self):
        r = run("--power", "5600W", "--tokens-per-second", "2800", "--pue", "1.4", "--json", "--price",
                "FR=0.058,DE=0.091,ES=0.054", "--carbon", "FR=40g/kWh@2025,ES=160g/kWh@2025,DE=363g/kWh@2024")
        doc = json.loads(r.stdout)
        self.assertEqual((doc["design"]["boundary"], doc["design"]["provenance"]), ("design", "declared"))
        for key, want in (("j_per_token", "2.0"), ("j_per_token_with_pue", "2.8"), ("kwh_per_mtok", "0.8")):
            self.assertEqual(f"{doc['design'][key]:.1f}", want)
        got = {(f["what"], f["zone"]): f["design_per_mtok"] for f in doc["factors"]}
        self.assertEqual([f"{got['carbon', z]:.1f}" for z in ("FR", "ES", "DE")], ["31.1", "124.4", "282.3"])
        self.assertEqual([f"{got['price', z]:.3f}" for z in ("FR", "ES", "DE")], ["0.045", "0.042", "0.071"])

    def test_the_list(self):
        asked = run("FR", "Spain", "--json")
        self.assertEqual([c["iso2"] for c in json.loads(asked.stdout)["countries"]], ["FR", "ES"])
        for how in ((), ("--json",)):
            wrong = run("Frnace", *how)
            self.assertEqual((wrong.returncode, wrong.stdout), (2, ""))
            self.assertIn("Did you mean France (FR)?", wrong.stderr)
        text = run().stdout
        self.assertEqual(sum(line.endswith(("2022", "2023", "2021", "2009")) for line in text.splitlines()), 213)
        self.assertIn("CC BY 4.0", text)
        self.assertEqual(run("Germny").returncode, 2)


if __name__ == "__main__":
    tap.main()

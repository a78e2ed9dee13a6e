#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The meters yokogawa and ptd against simulated instruments whose true energy is known."""
import concurrent.futures
import datetime
import json
import os
import subprocess
import unittest

import edges
import tap
from simanalyzer import Analyzer
from simptd import Ptd

JOULEMARK = os.environ["JOULEMARK"]


def joulemark(*args, **kw):
    return subprocess.run([JOULEMARK, *args], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, **kw)


def ns(text):
    """RFC 3339 with nanoseconds."""
    head, frac = text.rstrip("Z").split(".")
    s = datetime.datetime.strptime(head, "%Y-%m-%dT%H:%M:%S").replace(tzinfo=datetime.timezone.utc).timestamp()
    return int(s) * 10**9 + int(frac.ljust(9, "0"))


class Energy(unittest.TestCase):
    def record(self, run, seconds, *args):
        r = joulemark("run", "-q", "--no-summary", "-o", run, *args, "--", "sleep", str(seconds))
        self.assertEqual(r.returncode, 0, r.stderr)
        r = joulemark("show", "--json", run)
        self.assertIn(r.returncode, (0, 3), r.stderr)
        return json.loads(r.stdout)

    def result(self, doc, metric="energy"):
        rows = [r for r in doc["results"] if r["metric"] == metric and r.get("boundary") == "wall"]
        self.assertTrue(rows, [(r["metric"], r.get("boundary")) for r in doc["results"]])
        return rows[0]

    def window(self, doc):
        w = next(w for w in doc["windows"] if w["role"] == "measure")
        return ns(w["t0"]), ns(w["t1"])

    def edges(self, run, meter, update_s):
        doc = edges.export(JOULEMARK, run)
        w = next(w for w in doc["windows"] if w["role"] == "measure")
        rows = edges.readings(doc, meter, "energy")  # none where it never answered
        return edges.Edges(rows[0] if rows else [], w["t0_ns"], w["t1_ns"], round(update_s * 1e9))

    def yokogawa(self):
        """WH against the integral of a trapezoid 300 to 500 W: the counter moves once in 100 ms by the energy up to that
        moment, and in between the energy at an edge of the window is interpolated."""
        with Analyzer("--waveform", "trapezoid:lo=300W,hi=500W,bottom=500ms,rise=400ms,top=700ms,fall=300ms", "--ranges", "300,5", connect=False) as a:
            run = os.path.join(a.dir.name, "r.jmr")
            doc = self.record(run, 5, "-m", "yokogawa", "--yokogawa", a.url + ",volts=300,amps=5,rate=0.1")
            a.close()
            t0, t1 = self.window(doc)
            true = a.energy(t0, t1)
            got = self.result(doc)
            seen = self.edges(run, "yokogawa", .1)
            what = (got, true, vars(seen))
            self.assertEqual(got["provenance"], "simulated")
            self.assertLessEqual(abs(got["value"] - true), seen.joules(200, 500) + 1, what)
            half = (got["interval"]["hi"] - got["interval"]["lo"]) / 2
            self.assertLessEqual(abs(got["value"] - true), 1.5 * half + 1 + 200 * seen.late, what)
            self.assertLess(half, .05 * true + 2 * seen.joules(200, 500), what)

    def ptd(self):
        """Watts since Go, a step of 1 s."""
        with Ptd("--waveform", "sine:mean=400W,swing=50W,period=3s", connect=False) as p:
            run = os.path.join(p.dir.name, "r.jmr")
            doc = self.record(run, 6, "-m", "ptd", "--ptd", f"127.0.0.1:{p.port},volts=240,amps=4")
            p.close()
            t0, t1 = self.window(doc)
            true = p.energy(t0, t1)
            got = self.result(doc)
            seen = self.edges(run, "ptd", 1)
            self.assertEqual(got["provenance"], "simulated")
            what = (got, true, vars(seen))
            self.assertLessEqual(abs(got["value"] - true), seen.joules(100, 450) + 1, what)
            half = (got["interval"]["hi"] - got["interval"]["lo"]) / 2
            self.assertLessEqual(abs(got["value"] - true), 1.5 * half + 1 + 100 * seen.late, what)
            self.assertIn("Stopping untimed measurement", p.text)
            self.assertIn("Go with mark 'joulemark'", p.text)

    def goes_wrong(self, fault):
        """Silent, half answers, garbage, gone: gaps or lost, never a wrong value, and the run ends."""
        with Analyzer("--waveform", "const:600W", "--ranges", "300,5", "--fault", fault, connect=False) as a:
            run = os.path.join(a.dir.name, "r.jmr")
            r = joulemark("run", "-q", "--no-summary", "--no-edge", "-o", run, "-m", "yokogawa", "--yokogawa", a.url, "--", "sleep", "2")
            self.assertEqual(r.returncode, 0, (fault, r.stderr))
            r = joulemark("show", "--json", run)
            self.assertIn(r.returncode, (0, 3), fault)
            doc = json.loads(r.stdout)
            t0, t1 = self.window(doc)
            seen = self.edges(run, "yokogawa", .25)
            for row in doc["results"]:
                if row["metric"] == "power.mean" and row["value"] is not None:
                    # Power is flat: only the moments at which the counter moved can be mistaken. Late readings beside the fault
                    # may leave so few that the edge is extrapolated: the interval has to say so.
                    allowed = 6 + seen.joules(0, 600) / ((t1 - t0) / 1e9)
                    if seen.late:
                        allowed += .75 * (row["interval"]["hi"] - row["interval"]["lo"])
                    self.assertLessEqual(abs(row["value"] - 600), allowed, (fault, row, vars(seen)))

    def test_recordings(self):
        """Some at once: each takes its seconds."""
        faults = ("silent@1s", "half@1s", "garbage@1s", "die@1s", "close@1s", "nan@1s+500ms", "inf@1s", "over=9@1s")
        with concurrent.futures.ThreadPoolExecutor(5) as pool:
            all_of = [pool.submit(self.yokogawa), pool.submit(self.ptd)] + [pool.submit(self.goes_wrong, f) for f in faults]
            for f in all_of:
                f.result()


class Meters(unittest.TestCase):
    def meters(self, name, address):
        r = joulemark("meters", "--json", "--no-measure", "-m", name, f"--{name}", address)
        self.assertEqual(r.returncode, 0, r.stderr)
        return json.loads(r.stdout)["meters"][0]

    def test_off_unless_asked(self):
        r = joulemark("meters", "--json", "--no-measure")
        for m in json.loads(r.stdout)["meters"]:
            if m["name"] in ("yokogawa", "ptd"):
                self.assertEqual(m["state"], "off")

    def test_what_answers_is_none(self):
        with Analyzer("--fault", "idn", connect=False) as a:
            self.assertEqual(self.meters("yokogawa", a.url)["state"], "unsupported")
        with Ptd(connect=False) as p:
            self.assertEqual(self.meters("yokogawa", f"tcp://127.0.0.1:{p.port}")["state"], "unsupported")
        with Ptd("--fault", "hello=Hi", connect=False) as p:
            self.assertEqual(self.meters("ptd", f"127.0.0.1:{p.port}")["state"], "unsupported")
        with Ptd("--ptd-version", "1.9.2", connect=False) as p:
            m = self.meters("ptd", f"127.0.0.1:{p.port}")
            self.assertIn("1.10", json.dumps(m))

    def test_wrong_options(self):
        for name, address in (("yokogawa", "tcp://127.0.0.1:1,volts=x"), ("yokogawa", ",volts=300"), ("yokogawa", "x,nonsense=1"),
                              ("ptd", "127.0.0.1:1,volts=-1"), ("ptd", "127.0.0.1:1,nonsense")):
            m = self.meters(name, address)
            self.assertEqual(m["state"], "absent", address)

    def test_several_elements_and_ranges(self):
        with Analyzer("--model", "WT330_multichannel", "--waveform", "const:900W", "--split", "0.5,0.3,0.2", connect=False) as a:
            text = json.dumps(self.meters("yokogawa", a.url))
            for word in ("power.element1", "power.element3", "AUTO"):
                self.assertIn(word, text)
            text = json.dumps(self.meters("yokogawa", a.url + ",volts=300,amps=5"))
            self.assertIn("300 V, 5 A, fixed", text)
            self.assertEqual(self.meters("yokogawa", a.url + ",amps=90")["state"], "unsupported")

    def test_serial(self):
        with Analyzer("--pty") as a:
            m = self.meters("yokogawa", a.url)
            self.assertEqual(m["state"], "ok", m)


if __name__ == "__main__":
    tap.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The published sessions, read by the standard library of Python and by us: counts, sums, hashes, facts, messages."""
import calendar
import functools
import glob
import hashlib
import json
import os
import re
import subprocess
import sys
import time
import unittest

import tap

BUILD = os.environ.get("JM_BUILD", "build")
DUMP = os.path.join(BUILD, "tests", "mlperf", "session_dump")
CORPUS = os.path.join(BUILD, "corpus", "mlperf")
STAMP = re.compile(rb"\d\d-\d\d-\d{4} \d\d:\d\d:\d\d\.\d{3}: ")


@functools.cache
def day(text):
    return calendar.timegm(time.strptime(text, "%m-%d-%Y"))


def ns(text):
    date, clock = text.split(" ")
    h, m, s = clock.split(":")
    return ((day(date) + int(h) * 3600 + int(m) * 60) * 1000 + int(s.replace(".", ""))) * 10**6


def micro(text):
    whole, frac = text.split(".")
    assert len(frac) == 6
    return int(whole + frac)


def group(f, at):
    return [micro(f[at + 1 + 2 * i]) for i in range(4)]


def kind(v):
    if v[:3] == [-2000000] * 3:
        return "missed"
    if v[0] <= -3000000 and v[2] <= -3000000:
        return "over"
    return "bad" if v[0] < 0 else "good"


def samples(path, zone, window):
    """Counts of a whole file and of the window, as the header of session.h says them."""
    all_of = {"file": [], "window": []}
    times = []
    for line in open(path, newline="\n"):
        if not line.startswith("Time"):
            continue
        f = line.strip().split(",")
        t = ns(f[1]) + zone
        times.append(t)
        all_of["file"].append(group(f, 2))
        if window and window[0] < t < window[1]:
            all_of["window"].append(group(f, 2))
    out = {}
    for name, rows in all_of.items():
        kinds = [kind(r) for r in rows]
        true = [r[0] if k == "good" else -r[0] - 3000000 for r, k in zip(rows, kinds) if k in ("good", "over")]
        out[name] = {
            "rows": len(rows), "good": kinds.count("good"), "bad": kinds.count("bad"), "missed": kinds.count("missed"),
            "over": kinds.count("over"), "nonpositive": sum(r[0] <= 0 for r in rows),
            "sum_all_uw": sum(r[0] for r in rows), "sum_positive_uw": sum(r[0] for r in rows if r[0] > 0),
            "n_positive": sum(r[0] > 0 for r in rows), "sum_pf_micro": sum(r[3] for r in rows if r[3] > 0),
            "n_pf": sum(r[3] > 0 for r in rows), "min_uw": min(true, default=0), "max_uw": max(true, default=0),
            "overflow": False}
    return out, times


def messages(data):
    """Warnings and errors in capitals, each with its stamp: a line is taken apart at every stamp in it."""
    out = []
    for number, line in enumerate(data.split(b"\n"), 1):
        at = [m.start() for m in STAMP.finditer(line)]
        for i, a in enumerate(at):
            text = line[a + 25:at[i + 1] if i + 1 < len(at) else None].strip().decode()
            if "ERROR:" in text or "WARNING:" in text:
                out.append([ns(line[a:a + 23].decode()), number, text])
    return out


class Sessions(unittest.TestCase):
    maxDiff = 2000

    @classmethod
    def setUpClass(cls):
        cls.dirs = sorted(glob.glob(os.path.join(CORPUS, "v*")))
        p = subprocess.run([DUMP] + cls.dirs, capture_output=True, text=True, check=True)
        cls.ours = [json.loads(line) for line in p.stdout.splitlines()]

    def each(self):
        self.assertEqual(len(self.ours), 17)
        return [(os.path.join(d, "performance"), o) for d, o in zip(self.dirs, self.ours)]

    def test_files(self):
        for d, o in self.each():
            total = 0
            for rel, f in o["files"].items():
                path = os.path.join(d, rel)
                self.assertEqual(f["present"], os.path.exists(path))
                if not f["present"]:
                    continue
                data = open(path, "rb").read()
                total += len(data)
                self.assertEqual(f["bytes"], len(data))
                self.assertEqual(f["sha1"], hashlib.sha1(data).hexdigest(), rel)
                self.assertEqual(f["has_crlf"], b"\r\n" in data)
                lf = data.replace(b"\r\n", b"\n")
                crlf = re.sub(rb"(?<!\r)\n", b"\r\n", data)
                for key, form in (("sha1_lf", lf), ("sha1_crlf", crlf)):
                    if f[key]:
                        self.assertEqual(f[key], hashlib.sha1(form).hexdigest(), rel + " " + key)
                recorded = {s[r].get(rel) for s in (o["client"], o["server"]) for r in ("results",)} - {None}
                if recorded - {f["sha1"]}:
                    self.assertTrue(f["sha1_lf"] and f["sha1_crlf"])
            self.assertGreaterEqual(o["bytes"], total)

    def test_sides(self):
        for d, o in self.each():
            for side in ("client", "server"):
                want = json.load(open(os.path.join(d, "power", side + ".json")))
                got = o[side]
                self.assertIsNone(got["broken"])
                self.assertIsNone(got["missing"])
                self.assertIsNone(got["odd"])
                for key in ("version", "session_name", "sources", "results", "messages", "timezone"):
                    self.assertEqual(got[key], want[key], key)
                self.assertEqual([got["uuid_client"], got["uuid_server"]], [want["uuid"]["client"], want["uuid"]["server"]])
                for mode in ("ranging", "testing"):
                    self.assertEqual(got[mode], want["phases"][mode])
                self.assertEqual([(m["cmd"], m["reply"]) for m in got["ptd_messages"]],
                                 [(m["cmd"], m["reply"]) for m in want.get("ptd_messages", [])])
                config = want.get("ptd_config")
                self.assertEqual(got["has_config"], config is not None)
                self.assertEqual(got["config_is_list"], isinstance(config, list))
                for a, b in zip(got["config"], config if isinstance(config, list) else [config]):
                    if b is None:
                        self.assertEqual((a["device_type"], a["command"]), (-1, None))
                        continue
                    self.assertEqual((a["device_type"], a["command"], a["device_port"], a["interface_flag"]),
                                     (b["device_type"], " ".join(b["command"]), b["device_port"], b["interface_flag"]))
                    self.assertEqual(a["channel"] and json.loads(a["channel"]), b["channel"])

    def test_loadgen(self):
        for d, o in self.each():
            for mode in ("ranging", "run_1"):
                got = o[mode]["loadgen"]
                facts, errors, warnings = {}, 0, 0
                lines = [json.loads(x.split(" ", 1)[1]) for x in open(os.path.join(d, mode, "mlperf_log_detail.txt"))
                         if x.startswith(":::MLLOG")]
                for e in lines:
                    errors += e["metadata"]["is_error"]
                    warnings += e["metadata"]["is_warning"]
                    facts.setdefault(e["key"], e["value"])
                self.assertEqual((got["lines"], got["broken"], got["errors"], got["warnings"]),
                                 (len(lines), 0, errors, warnings))
                self.assertEqual(got["begin"], ns(facts["power_begin"]))
                self.assertEqual(got["end"], ns(facts["power_end"]))
                for key, value in facts.items():
                    if isinstance(value, bool):
                        self.assertEqual(got["facts"][key], str(value).lower())
                    elif isinstance(value, (int, float)):
                        self.assertEqual(type(value)(got["facts"][key]), value)
                    elif isinstance(value, str):
                        self.assertEqual(got["facts"][key][:1000], value[:1000])
                for line in open(os.path.join(d, mode, "mlperf_log_summary.txt")):
                    key, colon, value = line.partition(":")
                    if colon and key.strip() and "summary." + key.strip() not in facts:
                        facts["summary." + key.strip()] = value.strip()
                        self.assertEqual(got["facts"]["summary." + key.strip()], value.strip())
                self.assertEqual(len(got["facts"]), len(facts))

    def test_power(self):
        for d, o in self.each():
            zones = {s: o[s]["timezone"] * 10**9 * (o["round"] == "v1.0") for s in ("client", "server")}
            for mode in ("ranging", "run_1"):
                got = o[mode]
                window = got["loadgen"]["begin"] + zones["client"], got["loadgen"]["end"] + zones["client"]
                self.assertEqual((got["begin"], got["end"]), window)
                path = os.path.join(d, mode, "spl.txt")
                want, times = samples(path, zones["server"], window)
                self.assertEqual(got["file"], want["file"])
                self.assertEqual(got["window"], want["window"])
                self.assertEqual((got["first_ns"], got["last_ns"]), (times[0], times[-1]))
                pairs = list(zip(times, times[1:]))
                self.assertEqual(got["duplicate_stamps"], sum(a == b for a, b in pairs))
                self.assertEqual(got["max_gap_ns"], max(b - a for a, b in pairs if a < window[1] and b > window[0]))
                self.assertEqual((got["broken"], got["out_of_order"], got["marks_other"], got["other_lines"]), (0, 0, 0, 0))
                data = open(path, "rb").read()
                self.assertEqual(got["blank_last"], data.endswith((b"\n\n", b"\r\n\r\n")))
                self.assertEqual(got["channels"], data.split(b"\n", 1)[0].count(b",Ch"))

    def test_ptd_log(self):
        for d, o in self.each():
            path = os.path.join(d, "power", "ptd_logs.txt")
            if not os.path.exists(path):
                continue
            data = open(path, "rb").read()
            got = [[e[0], e[2], e[7]] for e in o["ptd_log"]["events"] if e[3] and e[5]]
            self.assertEqual(got, messages(data))
            self.assertEqual(o["ptd_log"]["dropped"], 0)
            cut = sum(1 for line in data.split(b"\n") if any(m.start() for m in STAMP.finditer(line)))
            self.assertEqual(o["ptd_log"]["not_line_safe"], cut)
            marks = [e[7] for e in o["ptd_log"]["events"] if e[7].startswith("Go with mark")]
            self.assertEqual(marks, [f"Go with mark '{o['server']['session_name']}_{m}'" for m in ("ranging", "testing")]
                             if marks else [])


if __name__ == "__main__":
    if not os.path.isdir(CORPUS):
        print("1..0 # SKIP no public test data (make corpus)")
        sys.exit(77)
    tap.main()

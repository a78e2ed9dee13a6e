#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every rule of joulemark mlperf check over one session: a session that is in order, and one change a rule that breaks
just that rule. What else a change cannot help to touch is named beside it."""
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import mlperftree
import tap

JOULEMARK = os.environ["JOULEMARK"]
# the tree says any uncertainty: result_test.c and the corpus look at this rule
ELSEWHERE = ("ptd.uncertainty_value",)
GROUPS = ("files", "sources", "ptd", "server", "session", "clock", "messages", "results", "ptdlog", "samples", "load", "ranging")


def check(path, *args):
    status, got = raw(path, *args)
    if isinstance(got, dict):
        got["rules"] = [r for r in got["rules"] if r["id"] not in ELSEWHERE and r["id"].split(".")[0] in GROUPS]
    return status, got


def raw(path, *args):
    r = subprocess.run([JOULEMARK, "mlperf", "check", "--json", "--all", *args, path], capture_output=True,
                       stdin=subprocess.DEVNULL, timeout=120, check=False)
    return r.returncode, json.loads(r.stdout)["sessions"][0] if r.stdout else r.stderr.decode()


WORSE = {"absent": 0, "pass": 1, "note": 2, "warning": 3, "fail": 4}


def verdicts(session):
    out = {}
    for r in session["rules"]:
        if r["id"] not in out or WORSE[r["verdict"]] > WORSE[out[r["id"]]]:
            out[r["id"]] = r["verdict"]
    return out


# ---- changes of one session

def side(name, change):
    def act(s):
        change(getattr(s, name))
        s.seal()
    return act


def both(change):
    def act(s):
        change(s.client)
        change(s.server)
        s.seal()
    return act


def text(rel, change, hashes=True):
    return lambda s: s.rewrite(rel, lambda t: change(t, s), hashes)


def spl(change, mode="run_1"):
    """change(rows, s) over the lines of spl.txt; row 0 to idle - 1 lie before the load."""
    def act(t, s):
        rows = t.rstrip("\n").split("\n")
        out = change(rows, s)
        return "\n".join(rows if out is None else out) + "\n\n"
    return text(f"{mode}/spl.txt", act)


def field(row, key, value):
    return re.sub(rf"(?<=,{key},)[^,]*", value, row, count=1)


def at(i, change):
    def act(rows, s):
        rows[i] = change(rows[i])
    return act


def log(line, where):
    """Adds a line of ptd_logs.txt: where(plan) gives its time in ms."""
    def act(t, s):
        plan = s.plan()
        ms = where(plan)
        lines = t.split("\n")
        stamped = f"{mlperftree.stamp(ms)}: {line}"
        for i, one in enumerate(lines):
            if re.match(r"\d\d-\d\d-\d{4} ", one) and one[:23] > stamped[:23]:
                lines.insert(i, stamped)
                break
        else:
            lines.append(stamped)
        return "\n".join(lines)
    return text("power/ptd_logs.txt", act)


def in_load(line):
    return log(line, lambda p: p["testing"]["load"] + 100500)


def ptd(find, change, last=False):
    """Changes the first (last) PTDaemon message whose command begins so."""
    def act(s):
        msgs = s.server["ptd_messages"]
        hits = [m for m in msgs if m["cmd"].startswith(find)]
        change(hits[-1 if last else 0])
        s.seal()
    return act


def reply(value):
    return lambda m: m.__setitem__("reply", value(m["reply"]) if callable(value) else value)


def command(value):
    return lambda m: m.__setitem__("cmd", value(m["cmd"]) if callable(value) else value)


def shift(names, mode, steps, seconds, mono=True):
    def act(s):
        for n in names:
            for m in mode:
                for k in steps:
                    p = getattr(s, n)["phases"][m][k]
                    p[0] += seconds
                    p[1] += seconds if mono else 0
        s.seal()
    return act


def phase_ends_early(s):
    begin = s.plan()["testing"]["load"] / 1000
    for n in ("client", "server"):
        p = getattr(s, n)["phases"]["testing"][2]
        d = begin + 1 - p[0]
        p[0] += d
        p[1] += d
    s.seal()


def fact(mode, key, value):
    """Replaces the value of a key in the detail log."""
    return text(f"{mode}/mlperf_log_detail.txt",
                lambda t, s: re.sub(rf'("key": "{key}", "value": )("[^"]*"|[^,]*)', lambda m: m.group(1) + value, t))


def more_facts(s):
    for mode, v in (("ranging", 100), ("run_1", 120)):
        line = (':::MLLOG {"key": "effective_target_qps", "value": %d, "time_ms": 1, "namespace": "mlperf::logging", '
                '"event_type": "POINT_IN_TIME", "metadata": {"is_error": false, "is_warning": false, "file": "x.cc", '
                '"line_no": 1, "pid": 1, "tid": 1}}\n' % v)
        s.rewrite(f"{mode}/mlperf_log_detail.txt", lambda t: line + t)


def no_ranging(s):
    for n in ("client", "server"):
        m = getattr(s, n)["messages"]
        m[:] = [x for x in m if ",ranging" not in x["cmd"]]
        for x in m:
            x["cmd"] = x["cmd"].replace(",start,testing", ",start,testing,230,5")
    s.seal()


def drop(rows_of):
    return lambda rows, s: [r for i, r in enumerate(rows) if not rows_of(i, s)]


def ranging_began_earlier(t, s):
    return t.replace(mlperftree.stamp(s.plan()["ranging"]["load"]), mlperftree.stamp(s.plan()["ranging"]["load"] - 1000000))


ABSENT_WITHOUT_SAMPLES = {"samples.over_range", "samples.bad", "samples.missed", "samples.zero", "samples.rate", "samples.gap",
                          "samples.frozen", "ranging.power", "ranging.factor", "ptd.watts_reply"}

# rule, verdict, change (None: nothing after writing), how the session is made, other rules that the change cannot help
CASES = [
    ("files.present", "fail", lambda s: s.remove("power/server.log"), {}, ()),
    ("files.readable", "fail", text("power/client.log", lambda t, s: ""), {}, ()),
    ("files.extra", "note", lambda s: s.put("run_1/notes.txt", "x\n"), {}, ()),
    ("sources.client", "fail", side("client", lambda c: c.update({"sources": {**c["sources"], "client.py": "0" * 40}})), {}, ()),
    ("sources.server", "fail", side("server", lambda j: j.update({"sources": {**j["sources"], "server.py": "0" * 40}})), {}, ()),
    ("ptd.version", "fail", ptd("Identify", reply(lambda r: r.replace("1.11.1", "1.12.0"))), {}, ("ptd.build",)),
    ("ptd.build", "note", ptd("Identify", reply(lambda r: r.replace("69286632", "01234567"))), {}, ()),
    ("ptd.model", "fail", ptd("Identify", reply(lambda r: r.replace("WT310E", "WT999", 1))), {}, ("ptd.config",)),
    ("ptd.replies", "fail", ptd("SR,A", reply("Error")), {}, ()),
    ("ptd.replies", "fail", ptd("Stop", reply("Error: no measurement to stop")), {}, ()),
    ("ptd.sequence", "fail", ptd("Go,", command(lambda c: c.replace("_testing", "_other")), last=True), {}, ("ranging.set",
                                                                                                           "ranging.enough")),
    ("ptd.restored", "warning", ptd("SR,A", command("SR,A,5.0"), last=True), {}, ()),
    ("ptd.config", "fail", side("server", lambda j: j["ptd_config"][0].update({"device_type": 12})), {}, ()),
    ("ptd.multichannel", "fail", side("server", lambda j: j["ptd_config"][0].update({"channel": None})), {"device": 77}, ()),
    ("ptd.simulated", "fail", side("server", lambda j: j["ptd_config"][0].update({"device_type": 0})), {}, ("ptd.config",)),
    ("ptd.watts_reply", "warning", ptd("Watts", reply(lambda r: r.replace("Watts,4", "Watts,3")), last=True), {}, ()),
    ("ptd.uncertainty_reply", "warning", ptd("Uncertainty", reply(lambda r: re.sub(r",0,(\d+),0$", r",5,\1,0", r)), last=True),
     {}, ()),
    ("server.debug", "fail", side("server", lambda j: j.update({"debug": True})), {}, ()),
    ("session.uuid", "fail", side("client", lambda c: c.update({"uuid": {**c["uuid"], "client": "0" * 32}})), {}, ()),
    ("session.name", "fail", side("client", lambda c: c.update({"session_name": "another"})), {}, ()),
    ("session.date", "warning", side("server", lambda j: j.update({"timezone": 7200})), {}, ()),
    ("clock.difference", "fail", None, {"director_offset": 1.0}, ("clock.ntp",)),
    ("clock.inside", "fail", phase_ends_early, {}, ("clock.dst",)),
    ("clock.dst", "warning", shift(("client", "server"), ("ranging", "testing"), range(4), -3600), {}, ("session.date",)),
    ("clock.order", "fail", shift(("client", "server"), ("testing",), (0,), -10000), {}, ()),
    ("clock.step", "warning", shift(("client",), ("testing",), (3,), 0.5, mono=False), {}, ()),
    ("clock.ntp", "warning", both(lambda j: [m for m in j["messages"] if m["cmd"] == "time"][1].update({"reply": "1.5"})), {},
     ()),
    ("clock.director", "warning", None, {"same_machine": True}, ()),
    ("messages.agree", "fail", side("server", lambda j: j["messages"][1].update({"reply": "no"})), {}, ()),
    ("messages.agree", "fail", side("server", lambda j: j["messages"].pop()), {}, ()),
    ("messages.version", "fail", both(lambda j: j["messages"][0].update({"reply": "mlcommons/power server v2"})), {}, ()),
    ("messages.order", "fail", both(lambda j: j["messages"].__setitem__(slice(None), [
        m for m in j["messages"] if ",stop,ranging" not in m["cmd"]])), {}, ()),
    ("results.checksums", "fail", text("power/client.log", lambda t, s: t + "x\n", hashes=False), {}, ()),
    ("results.line_ends", "warning", text("ranging/spl.txt", lambda t, s: t.replace("\n", "\r\n"), hashes=False), {}, ()),
    ("results.agree", "fail", side("client", lambda c: c["results"].update({"run_1/spl.txt": "0" * 40})), {}, ()),
    ("results.listed", "fail", side("client", lambda c: c["results"].pop("power/client.log")), {}, ()),
    ("results.others", "note", side("server", lambda j: j["results"].update({"run_1/ptd_out.txt": "0" * 40})), {"round": "v4.1"},
     ()),
    ("ptdlog.ranging", "fail", text("power/ptd_logs.txt", lambda t, s: t.replace("_testing'", "_other'", 1)), {}, ()),
    ("ptdlog.uncertainty_on", "fail", text("power/ptd_logs.txt", lambda t, s: t.replace("is activated", "is off")), {}, ()),
    ("ptdlog.errors_load", "fail", in_load("ERROR: Current exceeds peak value allowed for range 0.50A and CF 3."), {}, ()),
    ("ptdlog.errors_load", "fail", in_load("Warning: Bad watts reading 9.91e37 from Yokogawa"), {}, ()),
    ("ptdlog.errors_other", "fail", log("ERROR: Lost connection", lambda p: p["testing"]["begin"] + 5000), {}, ()),
    ("ptdlog.errors_other", "warning", log("ERROR: Bad watts reading nan from WT310", lambda p: p["testing"]["go"] + 2000), {},
     ()),
    ("ptdlog.errors_ranging", "note", log("ERROR: Bad watts reading nan from WT310", lambda p: p["ranging"]["go"] + 9500), {}, ()),
    ("ptdlog.errors_ranging", "warning", log("ERROR: Something new", lambda p: p["ranging"]["go"] + 9500), {}, ()),
    # the wordings of 1.9, 1.10 and 1.11
    ("ptdlog.uncertainty", "fail", in_load("WARNING: Uncertainty 1.05% above 1.00% limit for the last measurement sample!"), {},
     ()),
    ("ptdlog.uncertainty", "fail",
     in_load("WARNING: Uncertainty 1.05%, which is above 1.00% limit for the last sample!"), {}, ()),
    ("ptdlog.uncertainty", "fail",
     in_load("WARNING: Uncertainty 1.05%, which is above 1.00% limit for the last sample!, channel 2!"), {}, ()),
    ("ptdlog.uncertainty", "fail",
     in_load("WARNING: Uncertainty 1.05%, which is above 1.00% limit for the last sample, logical channel 2!"), {}, ()),
    ("ptdlog.uncertainty", "warning",
     in_load("WARNING: Uncertainty 1.05% above 1.00% limit for the last measurement sample!"), {"round": "v3.0"}, ()),
    ("ptdlog.unknown", "warning", in_load("WARNING: Uncertainty unknown for the last measurement sample!"), {}, ()),
    ("ptdlog.missed", "warning", in_load("WARNING: Missed 3 samples"), {}, ()),
    ("ptdlog.warnings", "warning", in_load("WARNING: Something new"), {}, ()),
    ("ptdlog.line_safe", "note", text("power/ptd_logs.txt", lambda t, s: t.replace(
        "Response to client sent: Range", f"Resp{mlperftree.stamp(s.start + 20000)}: Response to client sent: Range", 1)), {}, ()),
    ("samples.present", "fail", spl(drop(lambda i, s: s.idle <= i < s.idle + 600)), {}, ABSENT_WITHOUT_SAMPLES),
    ("samples.covers", "fail", spl(drop(lambda i, s: i < s.idle + 20)), {}, ("samples.rate", "ptd.watts_reply")),
    ("samples.over_range", "fail", None, {"overrange": (5, 6)}, ()),
    ("samples.bad", "warning", spl(at(300, lambda r: re.sub(r"Watts.*(?=,Mark)", "Watts,-1.000000,Volts,-1.000000,Amps,-1.000000,"
                                                            "PF,-1.000000", r))), {}, ()),
    ("samples.missed", "warning", None, {"samples": [500.0 + i % 3 for i in range(300)] + [None] + [500.0] * 20 +
                                         [501.0 + i % 2 for i in range(279)]}, ()),
    ("samples.zero", "warning", spl(at(300, lambda r: field(r, "Watts", "0.000000"))), {}, ()),
    ("samples.rate", "warning", spl(drop(lambda i, s: i > s.idle and i % 50 == 0)), {}, ("ptd.watts_reply",)),
    ("samples.gap", "warning", spl(drop(lambda i, s: i in (300, 301))), {}, ()),
    ("samples.duplicates", "note", spl(lambda rows, s: rows.insert(3, rows[3])), {}, ()),
    ("samples.order", "fail", spl(lambda rows, s: rows.insert(2, rows.pop(4))), {}, ()),
    ("samples.broken", "warning", spl(lambda rows, s: rows.insert(3, "Time,yesterday,Watts,1")), {}, ()),
    ("samples.marks", "fail", spl(at(3, lambda r: re.sub("Mark,.*", "Mark,2020-01-01_00-00-00_testing", r))), {}, ()),
    ("samples.frozen", "warning", None, {"samples": [500.0] * 600}, ()),
    ("samples.sum", "warning", spl(at(3, lambda r: re.sub("(Ch2,Watts,)[^,]*", r"\g<1>999.000000", r))), {"device": 77}, ()),
    ("load.window", "fail", text("ranging/mlperf_log_detail.txt", lambda t, s: t.replace("power_end", "power_fin")), {},
     ("ranging.duration", "ranging.power")),
    ("load.duration", "fail", None, {"seconds": 590}, ()),
    ("load.duration", "warning", fact("run_1", "effective_min_duration_ms", "10000"), {}, ()),
    ("load.valid", "fail", fact("run_1", "result_validity", '"INVALID"'), {}, ()),
    ("load.valid", "fail", fact("run_1", "early_stopping_met", "false"), {}, ()),
    ("load.errors", "fail", text("run_1/mlperf_log_detail.txt", lambda t, s: t.replace('"is_error": false', '"is_error": true', 1)),
     {}, ()),
    ("load.mode", "fail", fact("run_1", "effective_test_mode", '"AccuracyOnly"'), {}, ()),
    ("load.scenario", "note", None, {"scenario": "MultiStream", "run_scenario": "SingleStream"}, ()),
    ("load.same", "warning", more_facts, {}, ()),
    ("ranging.done", "fail", no_ranging, {}, ("messages.order",)),
    ("ranging.duration", "warning", text("ranging/mlperf_log_detail.txt", ranging_began_earlier), {}, ("clock.inside", "clock.dst")),
    ("ranging.power", "fail", spl(lambda rows, s: [re.sub(r"(?<=,Watts,)[^,]*", lambda m: f"{float(m[0]) * 0.9:.6f}", r)
                                                   for r in rows]), {}, ("ptd.watts_reply",)),
    ("ranging.set", "warning", ptd("SR,A,2", command("SR,A,9.9")), {}, ()),
    ("ranging.enough", "warning", spl(at(300, lambda r: field(r, "Amps", "9.000000"))), {}, ()),
    ("ranging.factor", "warning", spl(lambda rows, s: [r.replace("PF,0.970000", "PF,0.400000") for r in rows]), {}, ()),
]


class Rules(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.mkdtemp(prefix="mlperf-check.")
        cls.addClassCleanup(shutil.rmtree, cls.dir)
        cls.base = {}

    def make(self, name, how):
        how = dict(how)
        tree = mlperftree.Tree(os.path.join(self.dir, name), round=how.pop("round", "v5.1"))
        return tree.result("resnet50", how.pop("scenario", "Offline"), run_scenario=how.pop("run_scenario", None),
                           accuracy=False, **{"watts": 500, "seconds": 600, **how})

    def in_order(self, how):
        """Verdicts of the session that nothing was done to, by round and analyzer."""
        key = (how.get("round", "v5.1"), how.get("device", 49))
        if key not in self.base:
            s = self.make("base%d" % len(self.base), {"round": key[0], "device": key[1]})
            if "run_1/ptd_out.txt" in s.server["results"]:  # what is asked of the others stays as it is
                del s.server["results"]["run_1/ptd_out.txt"]
                s.seal()
            status, got = check(s.path)
            self.assertEqual(status, 0, got)
            bad = [r for r in got["rules"] if r["verdict"] not in ("pass", "absent")]
            self.assertEqual(bad, [], key)
            self.assertEqual([c for c in got["official"]["checks"] if c["verdict"] != "pass"], [], key)
            self.base[key] = verdicts(got)
        return self.base[key]

    def test_each_breach_is_told_and_nothing_else(self):
        for i, (rule, verdict, change, how, others) in enumerate(CASES):
            with self.subTest(rule=rule, case=i):
                base = dict(self.in_order(how))
                s = self.make("case%d" % i, how)
                s.server["results"].pop("run_1/ptd_out.txt", None)
                s.seal()
                if change:
                    change(s)
                status, got = check(s.path)
                self.assertIsInstance(got, dict, got)
                now = verdicts(got)
                said = {r["id"]: r["text"] for r in got["rules"]}
                self.assertEqual(now.get(rule), verdict, said.get(rule))
                differ = {k for k in set(base) | set(now) if base.get(k) != now.get(k)}
                self.assertEqual(differ - {rule} - set(others), set(),
                                 {k: (base.get(k), now.get(k), said.get(k)) for k in differ})
                official = got["official"]["verdict"] == "fail"
                self.assertEqual(status, 1 if official or got["verdict"] == "fail" else 0)
                shutil.rmtree(os.path.join(self.dir, "case%d" % i))

    def test_no_rule_is_without_a_case(self):
        _, got = check(self.make("all", {}).path)
        asked = {r["id"] for r in got["rules"] if r["id"].split(".")[0] in GROUPS}
        cases = {c[0] for c in CASES}
        self.assertEqual(asked - cases, set())
        # and each of them passes in a session that is in order, in one round or with one analyzer
        passing = {k for b in ({"device": 49}, {"device": 77}, {"round": "v4.1"})
                   for k, v in self.in_order(b).items() if v == "pass"}
        self.assertEqual(cases - passing, set())

    def alone(self, name, **how):
        """A session without a submission around it, in a folder of that name."""
        path = os.path.join(self.dir, name)
        s = self.make("of" + name.replace("/", "-"), how)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        shutil.move(os.path.join(s.path, "performance"), path)
        return path

    def test_a_name_somewhere_in_the_path_claims_no_scenario(self):
        _, got = raw(self.alone("gpu-server/2025-08-01"))
        self.assertEqual((verdicts(got)["load.scenario"], got["scenario"]), ("absent", "Offline"), got)
        _, got = raw(self.alone("old_singlestream_box/run", scenario="SingleStream"))
        self.assertEqual(verdicts(got)["load.scenario"], "pass")
        # what a run may be inferred to is believed, and so is the session's own folder
        _, got = raw(self.alone("box_MultiStream_inferred/run", scenario="SingleStream"))
        self.assertEqual((verdicts(got)["load.scenario"], got["scenario"]), ("note", "MultiStream"))
        _, got = raw(self.alone("resnet50/server", scenario="Offline"))
        self.assertEqual(verdicts(got)["submission.inferred"], "fail")

    def test_the_round_without_the_load(self):
        for i, lost in enumerate((("run_1",), ("run_1/mlperf_log_detail.txt", "ranging/mlperf_log_detail.txt"),
                                   ("run_1", "ranging/mlperf_log_detail.txt", "power/server.json"))):
            path = self.alone("lost%d" % i, round="v3.0")
            for rel in lost:
                rel = os.path.join(path, rel)
                shutil.rmtree(rel) if os.path.isdir(rel) else os.remove(rel)
            status, got = raw(path)
            self.assertIsInstance(got, dict, (lost, got))
            self.assertEqual((status, got["round"], got["official"]["revision"]), (1, "v3.0", "r3.0"), lost)

    def test_a_log_beside_the_load_says_how(self):
        s = self.make("hour", {})
        s.rewrite("run_1/spl.txt", lambda t: re.sub(r"(?<=-2025 )(\d\d)", lambda m: "%02d" % (int(m[1]) + 1), t))
        _, got = check(s.path)
        said = {r["id"]: r for r in got["rules"]}
        self.assertRegex(said["samples.covers"]["text"], r"begins [\d.]+ s after the load begins and ends [\d.]+ s after it ends")
        self.assertIn("moved by -1 h", said["samples.covers"]["evidence"])
        self.assertEqual(said["samples.present"]["verdict"], "fail")

    def test_a_log_without_a_sample(self):
        s = self.make("comma", {})
        s.rewrite("run_1/spl.txt", lambda t: re.sub(r"(\d+)\.(\d{6})", r"\1,\2", t))
        _, got = check(s.path)
        said = {r["id"]: r for r in got["rules"]}
        self.assertEqual((said["samples.covers"]["verdict"], said["samples.present"]["verdict"]), ("absent", "fail"))
        self.assertRegex(said["samples.broken"]["text"], r"^None of the \d+ lines of run_1/spl.txt is a sample")
        self.assertIn("line 1", said["samples.broken"]["evidence"])

    def test_marks_without_the_session_s_name(self):
        s = self.make("nameless", {})
        for rel in ("power/client.json", "power/server.json"):
            with open(os.path.join(s.path, "performance", rel), "w", encoding="utf-8") as f:
                f.write("{")
        _, got = check(s.path)
        self.assertEqual(verdicts(got)["ptdlog.ranging"], "pass")

    def test_analyzers_that_the_samples_do_not_show(self):
        s = self.make("two", {})
        s.server["ptd_config"] *= 2
        s.seal()
        _, got = check(s.path)
        self.assertEqual(verdicts(got)["ptd.multichannel"], "warning")

    def test_only_v1_0_uploads(self):
        s = self.make("old", {"round": "v1.0"})
        _, got = check(s.path)
        self.assertEqual(verdicts(got)["messages.upload"], "note")
        self.assertEqual(got["official"]["verdict"], "pass")
        for side_ in (s.server,):
            side_["messages"] = [m for m in side_["messages"] if ",upload," not in m["cmd"]]
        s.seal()
        _, got = check(s.path)
        now = verdicts(got)
        self.assertEqual(now["messages.upload"], "pass")
        self.assertEqual(now["messages.agree"], "fail")  # that last message is what the client does not have
        _, got = check(self.make("new", {}).path)
        self.assertNotIn("messages.upload", verdicts(got))


if __name__ == "__main__":
    tap.main()

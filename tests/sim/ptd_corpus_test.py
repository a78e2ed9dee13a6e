#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every command and answer, and every message, of public MLPerf sessions against what joulemark-sim ptd says.

The corpus lists hold, round by round, each pair of command and answer with its numbers as '#', and each warning and
error of ptd_logs.txt. The simulation is asked the same under the PTDaemon version of the round."""
import ast
import os
import re
import sys
import unittest

import tap
from simptd import Ptd

CORPUS = os.path.join(os.environ.get("JOULEMARK_CORPUS", os.path.join(os.environ["JM_SOURCE"], "..", "shared", "corpus")), "mlperf")
TYPES = {"YokogawaWT210": "8", "YokogawaWT310": "49", "YokogawaWT310E": "49", "YokogawaWT330": "52", "YokogawaWT330E": "52",
         "YokogawaWT330_multichannel": "77", "YokogawaWT500_multichannel": "48"}


def shape(text):
    """Numbers as '#', session ids as <ID>, as the corpus list writes them."""
    return re.sub(r"-?\d+(\.\d+)?", "#", text)


def read(name):
    with open(os.path.join(CORPUS, name), encoding="utf-8", errors="replace") as f:
        return f.read().split("\n")


def commands():
    """(PTDaemon version, model) -> commands and answers of the rounds that used it."""
    rounds, identify = {}, []
    for line in read("ptd_command_corpus.txt"):
        m = re.match(r"\d+ (\('v\d.*?'\)) EX: (.*)$", line)
        if not m:
            continue
        rnd, cmd, reply = ast.literal_eval(m.group(1))
        if cmd == "Identify":
            identify.append((rnd, m.group(2)))
        else:
            rounds.setdefault(rnd, set()).add((cmd, reply))
    return rounds, identify


def talk(p, rnd):
    """The commands of a round; what was said, as shapes."""
    said = set()

    def ask(cmd):
        reply = p.cmd(cmd)
        if cmd.startswith("RL") and reply.startswith("Last "):
            for _ in range(int(reply.split()[1])):
                p.recv()
        c = shape(cmd) if re.match(r"SR,.,[\d.]", cmd) else re.sub(r"^Go,\d+,\d+,.*_", "Go,#,#,<ID>_", cmd)
        said.add((c, shape(reply)))
        return reply

    for cmd in ("Hello", "RR", "SR,V,Auto", "SR,A,Auto", "Go,1000,0,2025-07-28_07-18-36_ranging"):
        ask(cmd)
    while len(p.rows()) < 2:
        pass
    for cmd in ("Stop", "SR,V,230.99", "SR,A,5.0463000000000004", "Go,1000,0,2025-07-28_07-18-36_testing"):
        ask(cmd)
    if rnd >= "v3.1":
        ask("Watts")
        ask("Uncertainty")
    ask("Stop")
    if rnd >= "v3.1":
        ask("RL,*,*")
        ask("RL")
        ask("Uncertainty")
        ask("Watts")
    else:
        ask("Stop")
    return said


class Corpus(unittest.TestCase):
    def test_commands(self):
        rounds, identify = commands()
        self.assertGreaterEqual(len(identify), 20)
        said = {}
        for rnd, example in identify:
            version = re.search(r"version=([\d.]+)-", example).group(1)
            model = example.split(",")[0]
            args = {"77": ["-c", "1,3"], "48": ["-c", "1"]}.get(TYPES[model], [])
            with Ptd(*args, "--ptd-version", version, "--model", model.replace("Yokogawa", ""), "--speed", "40",
                     "--waveform", "const:900W", type=TYPES[model]) as p:
                got = p.cmd("Identify")
                # the same fields in the same places; only who made it, of what build and on what system differ
                plain = [re.sub(r"-.*", "", f) for f in got.split(",")]
                want = [re.sub(r"-.*", "", f) for f in re.sub(r",OS=.*?,mode=", ",OS=x,mode=", example).split(",")]
                self.assertEqual(len(plain), len(want), example)
                for i, (a, b) in enumerate(zip(plain, want)):
                    if b.startswith(("OS=", "YOKOGAWA;")) or (i == 14 and "multichannel" in model):
                        continue  # that the number there counts channels is only what its place suggests
                    self.assertEqual(a, b, (i, got, example))
                self.assertEqual(got.split(",")[-1].count(";"), 3)
                said.setdefault(rnd, set()).update(talk(p, rnd))
        for rnd, want in sorted(rounds.items()):
            missing = {(c, r) for c, r in want - said[rnd] if (c, r) != ("Stop", "Error: no measurement to stop")}
            self.assertEqual(missing, set(), rnd)

    def test_messages(self):
        """What it warns of, in the words of the round's PTDaemon; and it has no words of its own for these."""
        known = {}
        for line in read("ptd_log_message_corpus.txt"):
            m = re.match(r"\d+ (\('v\d.*\))$", line)
            if not m:
                continue
            row = ast.literal_eval(m.group(1))
            if len(row) == 4 and row[1] in ("ERROR", "WARNING"):
                known.setdefault(row[0], set()).add(row[1] + ": " + re.sub(r"\d\d-\d\d-\d{4} .*", "", row[2]))
        version = {"v1.0": "1.9.2", "v2.1": "1.9.2", "v3.0": "1.10.0", "v4.1": "1.10.0", "v5.1": "1.11.1"}
        every = {v: set() for v in version.values()}
        for rnd, texts in known.items():
            if rnd in version:
                every[version[rnd]] |= texts
        every["1.9.2"] |= known["v1.1"] | known["v2.0"]
        for v, texts in every.items():
            said = set()
            for kind, args in (("8", []), ("49", []), ("77", ["-c", "1,3"]), ("48", ["-c", "1"])):
                with Ptd(*args, "--ptd-version", v, "--speed", "40", "--waveform", "cycle:20W@3s,400W@3s", "--pf", "0.5", "--fault",
                         "lose=1@testing:2s", "--fault", "nan@testing:5s+1s", "--fault", "inf@testing:7s+1s", "--fault",
                         "over=9@testing:9s+4s", type=kind) as p:
                    p.measure("s_ranging", 8)
                    p.cmd("SR,V,230")
                    p.cmd("SR,A,4")
                    p.measure("s_testing", 14)
                    p.close()
                    for line in p.text.split("\n"):
                        m = re.match(r"\d\d-\d\d-\d{4} [\d:.]+: ((?:ERROR|WARNING): .*)$", line)
                        if m:
                            said.add(m.group(1))
            ours = {re.sub(r"(Missed) \d+", r"\1 1", t) for t in said}
            ours = {re.sub(r"\d+\.\d\d%", "#%", re.sub(r"channel \d", "channel #", re.sub(r"range \d+\.\d\dA", "range #A",
                    re.sub(r"reading \d+\.\d+", "reading #", t)))) for t in ours}
            # whose readings go bad, and what is missed, differs between the sessions of a version, not between versions
            unknown = {t for t in ours if t not in texts and not (v == "1.9.2" and re.search(r"above|peak|inf from", t))}
            # no public session of 1.10 has it; by its other texts and by 1.11's
            unknown.discard("WARNING: Uncertainty #%, which is above #% limit for the last sample, channel #!")
            unknown = {t for t in unknown if not re.search(r"Missed|(amps|pf|watts|volts) reading (nan|inf|#)|peak|too high", t)}
            self.assertEqual(unknown, set(), v)
            need = {t for t in texts if re.search(r"Uncertainty|evaluate|Missed 1|peak value", t)}
            self.assertEqual(need - ours, set(), v)


if __name__ == "__main__":
    if not os.path.exists(os.path.join(CORPUS, "ptd_command_corpus.txt")):
        sys.exit(77)
    tap.main()

# SPDX-License-Identifier: Apache-2.0
"""What the readings of a run can tell at best of the energy at the edges of a window, whenever they came.

A test that compares energy with the truth takes its allowance from here: a reading that a busy machine delayed widens it
by as much as physics does, and nothing else does."""
import json
import os
import subprocess


def export(joulemark, run):
    """Everything raw of a run."""
    path = os.path.splitext(run)[0] + ".export.json"
    subprocess.run([joulemark, "export", "-q", "--json", run, "-o", path], check=True, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, timeout=120)
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def readings(doc, meter, channel):
    """Those of the channels of this name that hold a value, one list a channel."""
    meters = {m["meter"]: m["name"] for m in doc["meters"]}
    return [[r for r in doc[f"readings.{c['channel']}"] if r["status"] == "ok"] for c in doc["channels"]
            if meters[c["meter"]] == meter and c["name"] == channel]


class Edges:
    """The two edges of a window as a counter shows them, which moves once in `update_ns`. Seconds.

    blind: time around the edges of which only the energy as a whole is known: from the moment that the last reading before an
    edge tells of to that which the first one after it tells of. How power moves within it is not seen.
    brackets: how well the moments are known at which the counter moved on both sides of the edges.
    late: what of `blind` is there because readings came late."""

    def __init__(self, rows, t0_ns, t1_ns, update_ns):
        self.blind = self.brackets = self.late = 0
        moved = [(max(a["t0_ns"], b["t0_ns"] - update_ns), b["t1_ns"]) for a, b in zip(rows, rows[1:]) if a["value"] != b["value"]]
        if rows:
            moved.insert(0, (rows[0]["t0_ns"] - update_ns, rows[0]["t1_ns"]))
        for t in (t0_ns, t1_ns):
            before = [m for m in moved if sum(m) / 2 <= t] or [(t - update_ns, t)]
            after = [m for m in moved if sum(m) / 2 > t] or [(t, t + update_ns)]
            blind = after[0][1] - before[-1][0]
            self.blind += blind / 1e9
            self.brackets += sum(m[1] - m[0] for m in (before[-1], after[0])) / 1e9
            self.late += max(0, blind - 2 * update_ns) / 1e9

    def joules(self, swing_w, most_w):
        """A value may be wrong by this with power that never exceeds most_w and differs by swing_w at most: the energy between
        two moments is spread over the time between them in another way, and either moment is half a bracket off."""
        return swing_w * self.blind / 2 + most_w * self.brackets / 2

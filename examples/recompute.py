#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Computes the headline figures of an evidence bundle a second time: energy, output tokens and joules per token of each
measured window and over the trials, from the run files, with Python's standard library alone and none of joulemark's code.

    python3 recompute.py [FOLDER]       FOLDER: the unpacked bundle; else the one that this file lies in

It does less than joulemark and says where it stops. Energy: a counter is interpolated linearly between the refreshes
around an edge of the window, a gauge is integrated by trapezoids. Tokens: those of successful requests, each at its
stamp. Where an edge falls inside a refresh of 100 ms, the linear rule differs from joulemark's by up to some 0.1 % in
ten seconds; figures therefore agree when they differ by no more than the stated interval or 0.2 %.

A node or wall that was carried from the GPUs: P = fixed + slope x P_gpu, and the bend, of the calibration in given/. A
facility: the energy at the wall times the PUE that was given or is kept with the run. Over trials: the mean of the
windows' figures, and its t interval out of the stated figures of the windows, to six digits.
"""
import hashlib
import json
import math
import os
import sqlite3
import sys

sys.dont_write_bytecode = True
import decode_run  # noqa: E402

RELATIVE = 0.002
CARRIED = " as a calibrated estimate"
OUTER = {"node": ("node", "psu_output", "chassis"), "wall": ("inlet_ac", "inlet_dc", "psu", "pdu", "shelf", "rack"),
         "facility": ("site",)}
NOT_DEVICE = OUTER["node"] + OUTER["wall"] + OUTER["facility"]


def manifest(folder):  # names of files that are not what the manifest says
    wrong, named = [], set()
    with open(os.path.join(folder, "MANIFEST.sha256"), encoding="utf-8") as f:
        for line in f:
            want, name = line.rstrip("\n").split("  ", 1)
            named.add(name)
            try:
                with open(os.path.join(folder, name), "rb") as g:
                    if hashlib.sha256(g.read()).hexdigest() != want:
                        wrong.append(name + " (changed)")
            except OSError:
                wrong.append(name + " (not there)")
    for at, _, files in os.walk(folder):
        for name in files:
            name = os.path.relpath(os.path.join(at, name), folder)
            if name not in named and not name.startswith("MANIFEST.sha256"):
                wrong.append(name + " (not in the manifest)")
    return wrong


def good(db, channel, flags, modulus, scale):  # (before, after, value in the unit) of good readings, wraps undone
    turns, last = 0, None
    for t0, t1, value, status, _ in decode_run.readings(db, channel):
        if status:
            continue
        if not flags & 2:
            value %= 1 << 64
            if modulus and last is not None and value < last:
                turns += modulus
            last = value
            value += turns
        yield t0, t1, value * scale


def line(points, t):
    for (a, x), (b, y) in zip(points, points[1:]):
        if a <= t <= b and b > a:
            return x + (y - x) * (t - a) / (b - a)
    return None


def counter(readings, t0, t1):
    steps, prev = [], None
    for a, b, v in readings:
        if prev and v != prev[2]:
            steps.append(((prev[0] + b) / 2, v))
        prev = (a, b, v)
    lo, hi = line(steps, t0), line(steps, t1)
    return None if lo is None or hi is None else hi - lo


def gauge(readings, t0, t1, shift):
    points = [((a + b) / 2 - shift, v) for a, b, v in readings]
    inside = [(t, v) for t, v in points if t0 < t < t1]
    ends = line(points, t0), line(points, t1)
    if None in ends:
        return None
    walk = [(t0, ends[0])] + inside + [(t1, ends[1])]
    return sum((b - a) / 1e9 * (x + y) / 2 for (a, x), (b, y) in zip(walk, walk[1:]))


def ancestors(domains, d):
    while d is not None and domains[d][0] is not None:
        d = domains[d][0]
        yield d


def channels(db, doc, boundary, window):  # those that make up the boundary: each joule once
    domains = {i: (p, kind, key) for i, p, kind, key in db.execute("SELECT id,parent,kind,key FROM domain")}
    serving = dict(db.execute("SELECT key,value FROM env")).get("sut.gpus")
    serving = serving.split(",") if serving else None
    counted = {(e["channel"], e["device"], e["source"]) for e in doc["energy"] if e["window"] == window and e["counted"]}
    rows = []
    for row in db.execute("SELECT id,name,device,source,kind,unit,scale10,scale2,modulus,sem,window_ns,flags,domain FROM channel"):
        kind, key = domains[row[12]][1:] if row[12] in domains else (None, None)
        if (row[1], row[2], row[3]) not in counted or kind is None:
            continue
        if boundary == "gpu" and kind in ("gpu", "apu") and (serving is None or key in serving) or \
           boundary == "every gpu" and kind in ("gpu", "apu") or \
           boundary == "device" and kind not in NOT_DEVICE or boundary in OUTER and kind in OUTER[boundary]:
            rows.append(row)
    taken = {r[12] for r in rows}
    return [r for r in rows if not taken & set(ancestors(domains, r[12]))]


def joules(db, doc, boundary, window, t0, t1):
    total, n = 0, 0
    for i, _, _, _, kind, _, s10, s2, modulus, sem, width, flags, _ in channels(db, doc, boundary, window):
        r = list(good(db, i, flags, modulus, 10.0 ** s10 * 2.0 ** s2))
        e = counter(r, t0, t1) if kind == "counter" else gauge(r, t0, t1, (width or 0) / 2 if sem == "trailing-mean" else 0)
        if e is None:
            return None, 0
        total, n = total + e, n + 1
    return (total, n) if n else (None, 0)


def factor_of(db, given):  # the PUE of the command line, else what the run keeps: "1.4,period=2025,..."
    text = given.get("pue") or dict(db.execute("SELECT key,value FROM env")).get("site.pue") or ""
    try:
        return float(text.split(",")[0])
    except ValueError:
        return None


def carried(folder, given, boundary, gpu_w):  # W at the boundary by the relation of the calibration
    try:
        with open(os.path.join(folder, given["calibration"][0]), encoding="utf-8") as f:
            r = next(r for r in json.load(f)["relations"] if r["boundary"] == boundary)
    except (IndexError, KeyError, OSError, StopIteration, ValueError):
        return None
    bend = r["slope_more_above"] * max(0.0, gpu_w - r["knee_w"]) if "knee_w" in r else \
        r["cube"] * gpu_w ** 3 / r["cube_w"] ** 2 if "cube_w" in r else 0.0
    return r["fixed_w"] + r["slope"] * gpu_w + bend


def figure(db, doc, folder, given, r, window, t0, t1):  # joules of the result's boundary in that window, and of how many instruments
    made_of, at = r.get("instrument", ""), r["boundary"]
    times = 1.0
    if at == "facility" and ", times a PUE" in made_of:
        at, times = "wall", factor_of(db, given)
    e, n = joules(db, doc, "every gpu" if CARRIED in made_of else at, window, t0, t1)
    if e is not None and CARRIED in made_of:
        seconds = (t1 - t0) / 1e9
        watts = carried(folder, given, at, e / seconds)
        e = None if watts is None else watts * seconds
    return (None, n) if e is None or times is None else (e * times, n)


def t_quantile(p, dof):  # of Student's distribution, p above a half: its density over t = sqrt(dof) tan(a), by Simpson's rule, and halved
    scale = math.exp(math.lgamma((dof + 1) / 2) - math.lgamma(dof / 2)) / math.sqrt(math.pi)

    def below(t, n=2000):
        end = math.atan(t / math.sqrt(dof))
        f = [scale * math.cos(end * i / n) ** (dof - 1) for i in range(n + 1)]
        return 0.5 + end / n / 3 * (f[0] + f[n] + 4 * sum(f[1:n:2]) + 2 * sum(f[2:n:2]))
    lo, hi = 0.0, 1.0
    while below(hi) < p:
        hi *= 2
    for _ in range(60):
        lo, hi = ((lo + hi) / 2, hi) if below((lo + hi) / 2) < p else (lo, (lo + hi) / 2)
    return lo


def tokens(db, spans):  # output tokens of successful requests in each span
    ok = {i: n for i, n in db.execute("SELECT id,output_tokens FROM request WHERE end='ok'")}
    total, streams, seen = [0.0] * len(spans), {}, set()

    def put(request):
        events = streams.pop(request)
        seen.add(request)
        known = sum(n for _, n, _ in events)
        exact = all(flags & 8 for _, _, flags in events) and ok[request] in (None, known)
        if ok[request] is None and not exact:
            return
        for t, n, _ in events:
            for k, (t0, t1) in enumerate(spans):
                if t0 <= t < t1:
                    total[k] += n if exact else ok[request] / len(events)

    for request, t, n, flags in decode_run.events(db):
        if request in ok and request not in seen:
            streams.setdefault(request, []).append((t, n, flags))
    for request in list(streams):
        put(request)
    for row in decode_run.requests(db):  # answers that came whole: at their last token, else their end
        if row[0] in ok and row[0] not in seen and ok[row[0]] is not None:
            at = next((row[c] for c in (10, 12, 13) if row[c] is not None), None)
            for k, (t0, t1) in enumerate(spans):
                if at is not None and t0 <= at < t1:
                    total[k] += ok[row[0]]
    return total


def half(result):
    i = result.get("interval") or {}
    return (i["hi"] - i["lo"]) / 2 if i.get("hi") is not None and i.get("lo") is not None else 0.0


def compare(out, what, unit, stated, again, room, relative=RELATIVE):
    agree = again is not None and abs(again - stated) <= max(room, relative * abs(stated))
    out.append(agree)
    said = "nothing to compute it from" if again is None else f"again {again:.5g} {unit} ({again / stated - 1:+.3%})" if stated else f"again {again:.5g} {unit}"
    print(f"  {'agrees ' if agree else 'DIFFERS'}  {what:34} {stated:.5g} {unit}, {said}")


def run(folder, name):
    db = sqlite3.connect(f"file:{os.path.join(folder, 'runs', name)}?mode=ro&immutable=1", uri=True)
    with open(os.path.join(folder, "figures", name[:-4], "show.json"), encoding="utf-8") as f:
        doc = json.load(f)
    with open(os.path.join(folder, "bundle.json"), encoding="utf-8") as f:
        given = json.load(f)["options"]
    print(f"runs/{name}" + ("  SIMULATED" if doc["run"]["simulated"] else ""))
    names = [w["name"] for w in doc["windows"] if w["role"] == "measure"]
    rows = db.execute("SELECT name,t0,t1 FROM window WHERE role='measure' ORDER BY id").fetchall()
    if len(names) != len(rows):  # else in the same order: names that stand twice are told apart in the figures
        names = [r[0] for r in rows]
    windows = {n: (t0, t1) for n, (_, t0, t1) in zip(names, rows) if t1 is not None}
    names = list(windows)
    work = dict(zip(names, tokens(db, [windows[n] for n in names])))
    out, again, other = [], {}, set()
    for r in doc["results"]:
        if r["value"] is None or r.get("slice") or r["metric"] not in ("energy", "j_per.output_token"):
            other.add(r["metric"] + (" of a slice" if r.get("slice") else ""))
            continue
        if r.get("window") not in windows:
            continue
        e, n = figure(db, doc, folder, given, r, r["window"], *windows[r["window"]])
        what = f"{r['boundary']}, {r['window']}"
        if r["metric"] == "energy":
            compare(out, f"energy, {what} ({n} instruments)", "J", r["value"], e, half(r))
        else:
            t = work[r["window"]]
            compare(out, f"tokens, {r['window']}", "tokens", r["denominator"]["value"], t, 0)
            e = e / t if e is not None and t else None
            compare(out, f"J/token, {what}", "J/token", r["value"], e, half(r))
        again.setdefault((r["metric"], r["boundary"], r.get("set")), []).append((r, e))
    for r in doc["results"]:  # over the trials
        of = again.get((r["metric"], r["boundary"], r.get("set")))
        if r.get("window") or r.get("slice") or r["value"] is None or not of:
            continue
        of = [(x, e) for x, e in of if x.get("have") == x.get("of")]
        n, unit = len(of), r["unit"]
        what = f"{'J/token' if r['metric'] != 'energy' else 'energy'}, {r['boundary']}, mean of {n} trials"
        known = [e for _, e in of if e is not None]
        compare(out, what, unit, r["value"], sum(known) / n if len(known) == n == r["n"] else None, half(r))
        stated, i = [x["value"] for x, _ in of], r.get("interval") or {}
        if n > 1 and "t over trials" in (i.get("method") or ""):
            mean = sum(stated) / n
            sd = math.sqrt(sum((v - mean) ** 2 for v in stated) / (n - 1))
            compare(out, what + ", ±", unit, half(r), t_quantile((1 + i["level"]) / 2, n - 1) * sd / math.sqrt(n), 1e-12, 1e-6)
    if other:
        print(f"  not computed again here: the figures of {len(other)} other metrics ({', '.join(sorted(other)[:4])} ...)")
    if any(e.get("passport") for e in doc["energy"]):
        print("  energies are corrected by passports; without them they may differ by what these correct")
    if not out:
        print("  no figure that can be computed again")
    return all(out)


def main(folder):
    if not os.path.isfile(os.path.join(folder, "MANIFEST.sha256")):
        print(f"recompute.py: {folder} is no unpacked bundle of evidence: it has no MANIFEST.sha256; joulemark audit RUN "
              "--bundle FILE makes one, tar --zstd -xf FILE unpacks it", file=sys.stderr)
        return 2
    wrong = manifest(folder)
    for name in wrong:
        print("NOT WHAT THE MANIFEST SAYS:", name)
    print("manifest:", "every file is what it says" if not wrong else f"{len(wrong)} files are not")
    fine = [run(folder, name) for name in sorted(os.listdir(os.path.join(folder, "runs"))) if name.endswith(".jmr")]
    print("all figures agree" if all(fine) and not wrong else "NOT ALL FIGURES AGREE" if not all(fine) else "FILES WERE CHANGED")
    return 0 if all(fine) and not wrong else 1


if __name__ == "__main__":
    if len(sys.argv) > 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1] if len(sys.argv) == 2 else os.path.dirname(os.path.abspath(__file__))))

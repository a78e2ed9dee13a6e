#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What measuring costs: CPU and memory of a recording, the time that `run -- true` adds, the time to compute and show an hour.

    bench/cost.py BUILD-DIR [seconds]

Everything is measured side by side with something that is run here and now (a bare `true`, `python3 -c pass`, sqlite3 reading the
same file), because absolute times belong to one machine. Prints a table; the bounds of the project are in RESULTS.md.
"""
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

BUILD = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build")
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 30
JOULEMARK = os.path.join(BUILD, "joulemark")
SIM = os.path.join(BUILD, "sim", "joulemark-sim")
TICK = os.sysconf("SC_CLK_TCK")


def cpu(pid):
    with open("/proc/%d/stat" % pid, encoding="ascii") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def status(pid, key):
    with open("/proc/%d/status" % pid, encoding="ascii") as f:
        for line in f:
            if line.startswith(key):
                return int(line.split()[1])
    return 0


def recording(folder):
    """8 simulated GPUs, every NVML channel, 10 Hz. CPU between two moments inside, so that start and self-test are left out."""
    code = ("import subprocess,sys,time\n"
            "p=subprocess.Popen(%r)\nprint(p.pid,flush=True)\nsys.stdin.readline()\np.send_signal(2)\nsys.exit(p.wait())\n"
            % [JOULEMARK, "record", "-q", "-m", "nvml", "-o", os.path.join(folder, "cost.jmr")])
    sim = subprocess.Popen([SIM, "gpu", "--gpus", "8", "--profile", "h100", "--waveform", "burst", "--", sys.executable, "-c", code],
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="ascii")
    pid = int(sim.stdout.readline())
    time.sleep(6)
    c0, t0 = cpu(pid), time.monotonic()
    time.sleep(SECONDS)
    c1, t1 = cpu(pid), time.monotonic()
    rss, anon, peak = status(pid, "VmRSS"), status(pid, "RssAnon"), status(pid, "VmHWM")
    sim.stdin.write("\n")
    sim.stdin.flush()
    sim.wait(60)
    return (c1 - c0) / (t1 - t0), rss, anon, peak


def timed(command, n, env=None):
    out = []
    for _ in range(n):
        t = time.monotonic()
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, env=env)
        out.append(time.monotonic() - t)
    return statistics.median(out)


def used(command, stdout):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    t = time.monotonic()
    subprocess.run(command, stdout=stdout, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.monotonic() - t, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, after.ru_maxrss


def main():
    with tempfile.TemporaryDirectory() as folder:
        share, rss, anon, peak = recording(folder)
        print("recording 8 GPUs, every NVML channel, 10 Hz: %.2f %% of a core, RSS %.1f MiB (anonymous %.1f, peak %.1f)"
              % (100 * share, rss / 1024, anon / 1024, peak / 1024))
        run = os.path.join(folder, "r.jmr")
        bare = timed(["true"], 20)
        python = timed([sys.executable, "-c", "pass"], 10)

        def one(*more):
            times = []
            for _ in range(10):
                if os.path.exists(run):
                    os.unlink(run)
                times.append(timed([JOULEMARK, "run", "-q", "-o", run, *more, "--", "true"], 1))
            return statistics.median(times)
        print("run -- true: %.0f ms without a meter (true alone %.1f ms, python3 -c pass %.0f ms)" % (1e3 * one(), 1e3 * bare, 1e3 * python))
        made = subprocess.run([os.path.join(BUILD, "bench", "bench-run_file"), folder], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env=dict(os.environ, KEEP="1"), encoding="utf-8", check=False).stdout
        big = [os.path.join(folder, f) for f in os.listdir(folder) if f.endswith(".jmr") and os.path.getsize(os.path.join(folder, f)) > 5e6]
        if not big:
            print(made)
            sys.exit("the run of an hour was not made")
        big = max(big, key=os.path.getsize)
        j = os.path.join(folder, "show.json")
        with open(j, "wb") as f:
            wall, busy, mem = used([JOULEMARK, "show", big, "--json"], f)
        with open(j, encoding="utf-8") as f:
            results = len(json.load(f)["results"])
        ref = timed(["sqlite3", big, "select sum(length(data)) from chunk"], 3)
        print("an hour of 32 channels, 100,000 requests and their token events (%.1f MB): show --json %.2f s wall, %.2f s CPU, %.0f MiB; "
              "%d results (sqlite3 sums its chunks in %.3f s)" % (os.path.getsize(big) / 1e6, wall, busy, mem / 1024, results, ref))
        h = os.path.join(folder, "r.html")
        wall, busy, _ = used([JOULEMARK, "report", big, "-o", h], subprocess.DEVNULL)
        print("its HTML: %.2f MB in %.2f s wall, %.2f s CPU" % (os.path.getsize(h) / 1e6, wall, busy))


main()

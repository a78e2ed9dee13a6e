# SPDX-License-Identifier: Apache-2.0
"""A powercap tree whose counters run by a known power: class/powercap and devices/virtual/powercap below a folder, as Linux
lays them out. A process of its own writes energy_uj every 2 ms.

    python powercap.py FOLDER SPEC    SPEC: {"t0": ns of CLOCK_MONOTONIC, "zones": [{"path", "name", "base", "range", "power"}]}

power is a list of [seconds, W], repeated; the counter stands at base + energy since t0, modulo range + 1, in uJ.
"""
import json
import os
import sys
import time


def energy(power, seconds):
    """J from the start to there, exactly."""
    period = sum(s for s, _ in power)
    whole, rest = divmod(seconds, period)
    j = whole * sum(s * w for s, w in power)
    for s, w in power:
        j += min(s, rest) * w
        rest -= min(s, rest)
    return j


def between(power, t0, start, end):
    return energy(power, (end - t0) / 1e9) - energy(power, (start - t0) / 1e9)


def create(folder, zones):
    devices = os.path.join(folder, "devices", "virtual", "powercap")
    classes = os.path.join(folder, "class", "powercap")
    os.makedirs(classes)
    for z in zones:
        top = z["path"].split(":")[0]  # intel-rapl, intel-rapl-mmio
        parts = z["path"].split(":")
        at = os.path.join(devices, top)
        for i in range(1, len(parts)):
            at = os.path.join(at, ":".join(parts[:i + 1]))
        os.makedirs(at)
        for name in top, z["path"]:
            link = os.path.join(classes, name)
            if not os.path.lexists(link):
                os.symlink(os.path.join(devices, top) if name == top else at, link)
        if not os.path.lexists(os.path.join(devices, top, "subsystem")):
            os.symlink(classes, os.path.join(devices, top, "subsystem"))
        for name, text in ("name", z["name"]), ("max_energy_range_uj", z["range"]), ("enabled", 1), ("energy_uj", z["base"]):
            with open(os.path.join(at, name), "w", encoding="ascii") as f:
                f.write(f"{text}\n")
        z["file"] = os.path.join(at, "energy_uj")


def run(folder, spec):
    """Until its parent is gone. When a write comes late, FOLDER/late gets a line: the time before, and the time of the write."""
    zones = [(os.open(z["file"], os.O_WRONLY), z["power"], z["base"], z["range"] + 1) for z in spec["zones"]]
    before = None
    with open(os.path.join(folder, "late"), "a", encoding="ascii") as late:
        while os.getppid() != 1:
            now = time.monotonic_ns()
            for fd, power, base, modulus in zones:
                uj = int(base + energy(power, (time.monotonic_ns() - spec["t0"]) / 1e9) * 1e6) % modulus
                os.pwrite(fd, (b"%d" % uj).ljust(len(str(modulus)), b"\n"), 0)
            if before and now - before > 4_000_000:
                late.write(f"{before} {now}\n")
                late.flush()
            before = now
            time.sleep(0.002)


def late(folder, start, end):
    """How long a counter stood still at those two times, both together, in seconds; at most 6 ms a time where none was late."""
    worst = [0.006, 0.006]
    with open(os.path.join(folder, "late"), encoding="ascii") as f:
        for line in f:
            a, b = map(int, line.split())
            for i, t in enumerate((start, end)):
                if a - 10**6 <= t <= b + 10**6:
                    worst[i] = max(worst[i], (b - a) / 1e9)
    return sum(worst)


if __name__ == "__main__":
    run(sys.argv[1], json.loads(sys.argv[2]))

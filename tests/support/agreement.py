# SPDX-License-Identifier: Apache-2.0
"""CodeCarbon, Zeus, CarbonTracker and joulemark over the same load at the same time, each held to what was truly drawn.

GPUs are simulated (LD_LIBRARY_PATH puts the simulated libnvidia-ml.so.1 in front), RAPL is a tree of powercap.py that a mount
namespace puts in the place of /sys/class. Each tool reads by itself and is held to the energy of its own window: from the return of
its start to the call of its stop, of joulemark the window in its run file.
"""
import datetime
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

import powercap
import pypi

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGES = "codecarbon==3.3.2 zeus==0.16.0 carbontracker==2.4.7"
PEERS = ("codecarbon", "zeus", "carbontracker")
RANGE = 262143328850  # uJ, of most packages
BURSTS = [[0.35, 180.0], [0.15, 60.0], [0.6, 240.0], [0.4, 75.0]]  # a package
DRAM = [[0.5, 30.0], [0.5, 22.0]]
QUIET = [[1.0, 8.0]]

# What is to be measured: the GPU that works, and what is in the RAPL tree. psys holds the package and 20 W beside it; the mmio zone is
# the package once more.
SERVER = [("intel-rapl:0", "package-0", BURSTS), ("intel-rapl:0:0", "dram", DRAM), ("intel-rapl:1", "package-1", QUIET),
          ("intel-rapl:1:0", "dram", QUIET)]
CLIENT = [("intel-rapl:0", "package-0", BURSTS), ("intel-rapl:0:0", "core", QUIET),
          ("intel-rapl:1", "psys", [[s, w + 20.0] for s, w in BURSTS]), ("intel-rapl-mmio:0", "package-0", BURSTS)]

WHAT = {
    "bursts": "bursty load on one visible GPU of 4; two packages with DRAM",
    "short": "a run of 0.3 s",
    "reset": "the GPU's counter restarts and a package's counter wraps in the middle",
    "all": "no GPU hidden: 3 of 4 idle; a client's RAPL with psys and the package again as mmio",
}


def why_not():
    """None, or why no mount namespace can be had."""
    r = subprocess.run([*namespace(), "true"], capture_output=True, text=True, check=False)
    return r.stderr.strip() or "no mount namespace" if r.returncode else None


def namespace():
    return ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]


class Lab:
    def __init__(self, build, seconds=6.0, say=None):
        self.build, self.seconds, self.say = build, seconds, say or (lambda text: None)
        self.python, self.why = pypi.prepare("energy-peers", PACKAGES, "codecarbon, zeus, carbontracker")
        self.why = self.why or why_not()
        self.sim = os.path.join(build, "sim", "joulemark-sim")
        self.joulemark = os.environ.get("JOULEMARK", os.path.join(build, "joulemark"))
        self.children, self.writers = [], {}

    # --- machines

    def tree(self, name, zones):
        folder = os.path.join(self.dir, name)
        os.mkdir(folder)
        specs = [{"path": path, "name": zone, "base": 3_000_000_000, "range": RANGE, "power": power} for path, zone, power in zones]
        powercap.create(folder, specs)
        return folder, specs

    @staticmethod
    def now():
        return time.monotonic_ns()

    def write(self, folder, specs, wrap_at=None):
        """Lets the counters run; package 0 wraps at that time."""
        old = self.writers.pop(folder, None)
        if old:
            old.terminate()
            old.wait(20)
        for z in specs:
            if wrap_at is not None and z["name"] == "package-0":
                z["base"] = RANGE + 1 - round(powercap.energy(z["power"], (wrap_at - self.t0) / 1e9) * 1e6)
        self.writers[folder] = self.spawn([sys.executable, os.path.join(HERE, "powercap.py"), folder, json.dumps({"t0": self.t0, "zones": specs})])

    def spawn(self, args, **kw):
        p = subprocess.Popen(args, text=True, **{"stdin": subprocess.DEVNULL, **kw})
        self.children.append(p)
        return p

    def within(self, tree, args):
        """The command with that tree as /sys/class."""
        return [*namespace(), "sh", "-c", 'mount --bind "$0/class" /sys/class && exec "$@"', tree, *args]

    def env(self, visible):
        env = {**os.environ, "JOULEMARK_SIM_GPU": self.state, "CODECARBON_LOG_LEVEL": "error",
               "JM_NVML_LIB": os.path.join(self.build, "sim", "gpu", "libnvidia-ml.so.1"),
               "LD_LIBRARY_PATH": os.path.join(self.build, "sim", "gpu"), "HOME": self.dir,
               "PATH": self.dir + "/bin:" + os.environ.get("PATH", "/usr/bin:/bin")}
        env.pop("CUDA_VISIBLE_DEVICES", None)
        if visible is not None:
            env["CUDA_VISIBLE_DEVICES"] = str(visible)
        return env

    def bursts(self):
        """Pauses, prefills, decoding: a waveform file, so that it can be one GPU's."""
        path = os.path.join(self.dir, "bursts")
        with open(path, "w", encoding="ascii") as f:
            for i in range(40):
                f.write("%dms 180W\n%dms 660W\n%dms 420W\n" % (90 + 37 * i % 130, 20 + 11 * i % 41, 150 + 53 * i % 400))
        return "file:" + path

    def true_gpu(self, start, end):
        r = subprocess.run([self.sim, "truth", "--from", "@%d" % start, "--to", "@%d" % end, self.state], capture_output=True, text=True,
                           check=True)
        return [g["energy_j"] for g in json.loads(r.stdout)["gpus"]]

    # --- tools

    def peers(self, tree, visible):
        out = {}
        for name in PEERS:
            folder = tempfile.mkdtemp(dir=self.dir)
            p = self.spawn(self.within(tree, [self.python, os.path.join(HERE, "energy_peer.py"), name, folder]), env=self.env(visible),
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=folder)
            out[name] = p
        return out

    @staticmethod
    def tell(peers, order):
        for p in peers.values():
            p.stdin.write(json.dumps({"do": order}) + "\n")
            p.stdin.flush()
        return {name: json.loads(p.stdout.readline()) for name, p in peers.items()}

    def ours(self, tree, visible, name, seconds):
        file = os.path.join(self.dir, name + ".jmr")
        return file, self.spawn(self.within(tree, [self.joulemark, "run", "-q", "--no-summary", "-m", "nvml,rapl", "-o", file, "--",
                                                   "sh", "-c", 'touch "$0" && exec sleep "$1"', file + ".begun", str(seconds)]),
                                env=self.env(visible))

    def show(self, file):
        r = subprocess.run([self.joulemark, "show", file, "--json"], capture_output=True, text=True, timeout=60, check=False)
        if r.returncode not in (0, 3):
            raise AssertionError(r.stderr)
        return json.loads(r.stdout)

    @staticmethod
    def mono(stamp):
        """RFC 3339 with nanoseconds to CLOCK_MONOTONIC"""
        whole, part = stamp.rstrip("Z").split(".")
        s = int(datetime.datetime.fromisoformat(whole).replace(tzinfo=datetime.timezone.utc).timestamp())
        return s * 10**9 + int(part.ljust(9, "0")) - (time.time_ns() - time.monotonic_ns())

    # --- one scenario

    def truth(self, start, end, tree, specs):
        gpus = self.true_gpu(start, end)
        cpu = {}
        for z in specs:
            if z["path"].startswith("intel-rapl:"):
                cpu[z["name"]] = cpu.get(z["name"], 0) + powercap.between(z["power"], self.t0, start, end)
        return {"gpu": gpus[0], "gpus": sum(gpus), "cpu": sum(j for n, j in cpu.items() if n.startswith("package")), "dram": cpu.get("dram"),
                "psys": cpu.get("psys"), "seconds": (end - start) / 1e9,
                "reset": next((at for at in self.resets if start - 10**9 < at < end + 10**9), None), "t0": start, "t1": end,
                "late_j": powercap.late(tree, start, end) * sum(max(w for _, w in z["power"]) for z in specs)}

    def measure(self, scenarios, seconds):
        """All the scenarios at the same time."""
        own = {name: self.ours(tree, visible, name, seconds) for name, _, tree, _, visible in scenarios}
        for file, p in own.values():  # its window is open
            while p.poll() is None and not os.path.exists(file + ".begun"):
                time.sleep(0.01)
        every = {(name, tool): p for name, peers, *_ in scenarios for tool, p in peers.items()}
        until = time.monotonic() + seconds
        started = self.tell(every, "start")
        time.sleep(max(0, until - time.monotonic()))
        stopped = self.tell(every, "stop")
        read = self.tell(every, "read")
        rows = []
        for name, peers, tree, specs, _ in scenarios:
            for tool in peers:
                a, b, r = started[name, tool], stopped[name, tool], read[name, tool]
                r["error"] = a.get("error") or b.get("error") or r.get("error")
                r.update(scenario=name, tool=tool, true=self.truth(a["t"], b["t"], tree, specs))
                rows.append(r)
            file, p = own[name]
            p.wait(60)
            j = self.show(file)
            (w,) = [w for w in j["windows"] if w["role"] == "measure"]
            rows.append(self.own_row(name, j, self.truth(self.mono(w["t0"]), self.mono(w["t1"]), tree, specs)))
        return rows

    @staticmethod
    def own_row(name, j, true):
        (gpu,) = [x for x in j["results"] if x["metric"] == "energy" and x["boundary"] == "gpu"]
        (device,) = [x for x in j["results"] if x["metric"] == "energy" and x["boundary"] == "device"]
        return {"scenario": name, "tool": "joulemark", "version": j["joulemark"], "error": None, "gpu_j": gpu["value"],
                "cpu_j": device["value"] - gpu["value"], "dram_j": None, "gpu": gpu, "device": device, "true": true,
                "said": [f for f in gpu["validity"]["reasons"] if f != "window.short"]}

    def run(self):
        with tempfile.TemporaryDirectory(prefix="agreement.") as self.dir:
            try:
                return self._run()
            finally:
                for p in self.children:
                    p.terminate()
                for p in self.children:
                    p.wait(20)
                    for f in p.stdin, p.stdout:
                        if f:
                            f.close()

    def _run(self):
        self.state = os.path.join(self.dir, "state")
        # CodeCarbon asks for a GPU by running nvidia-smi --help, and reads by NVML
        os.mkdir(self.dir + "/bin")
        os.symlink(shutil.which("true"), self.dir + "/bin/nvidia-smi")
        server, zones = self.tree("server", SERVER)
        client, other = self.tree("client", CLIENT)
        resets = range(int(3 * self.seconds) + 6, 300, int(2 * self.seconds) + 6)  # s; the last scenario takes the next one
        gpus = ["--gpus", "4", "--seed", "5", "--waveform", "const:62W", "--gpu", "0:waveform=" + self.bursts(), "--state", self.state]
        for at in resets:
            gpus += ["--fault", "kind=reset,gpu=0,at=%ds" % at]
        subprocess.run([self.sim, "gpu", *gpus, "--create-only"], check=True, capture_output=True)
        self.t0 = self.now()
        self.resets = [self.t0 + at * 10**9 for at in resets]
        self.write(server, zones)
        self.write(client, other)

        def next_reset(margin):
            return next(t for t in self.resets if t > self.now() + margin * 1e9)

        def quiet(seconds):
            """Waits until no reset comes for so long."""
            at = next_reset(-1)
            if at < self.now() + (seconds + 2) * 1e9:
                time.sleep(max(0, at - self.now()) / 1e9 + 0.5)

        one, every = self.peers(server, 0), self.peers(client, None)
        self.say("starting the tools")
        both = {**{"one " + k: p for k, p in one.items()}, **{"all " + k: p for k, p in every.items()}}
        self.tell(both, "prepare")
        rows = []
        quiet(self.seconds)
        self.say("measuring: " + WHAT["bursts"] + "; " + WHAT["all"])
        rows += self.measure([("bursts", one, server, zones, 0), ("all", every, client, other, None)], self.seconds)
        self.tell(one, "prepare")
        quiet(1)
        self.say(WHAT["short"])
        rows += self.measure([("short", one, server, zones, 0)], 0.3)
        self.tell(one, "prepare")
        begin = self.seconds / 2 + 1.5  # before the reset
        reset = next_reset(begin)
        self.write(server, zones, reset)
        self.say(WHAT["reset"])
        time.sleep(max(0, reset - begin * 1e9 - self.now()) / 1e9)
        rows += self.measure([("reset", one, server, zones, 0)], self.seconds)
        return rows


# What each counts as the CPU: by its own documentation or code.
CPU = {"joulemark": ("cpu", "dram"), "codecarbon": ("cpu",), "zeus": ("cpu", "dram"), "carbontracker": ("cpu", "dram")}
NAMES = {"joulemark": "joulemark", "codecarbon": "CodeCarbon", "zeus": "Zeus", "carbontracker": "CarbonTracker"}


def pairs(row):
    """((GPU read, true), (CPU read, true)) in J; a read of None: it has none"""
    t = row["true"]
    gpu = t["gpu"] if row["scenario"] != "all" else t["gpus"]
    read = [row.get(k + "_j") for k in ("cpu", "dram")]
    cpu = sum(v for v in read if v is not None) if any(v is not None for v in read) else None
    return (row.get("gpu_j"), gpu), (cpu, sum(t[k] for k in CPU[row["tool"]] if t[k] is not None))


def table(rows):
    def cell(read, true):
        if read is None:
            return "%10s %9.1f %9s" % ("-", true, "")
        off = 100 * (read / true - 1)
        return "%10s %9.1f %9s" % ("%.1f" % read if abs(read) < 1e6 else "%.3g" % read, true,
                                   "%+.2f %%" % off if abs(off) < 1e3 else "%+.0e %%" % off)
    lines = []
    for name, what in WHAT.items():
        lines += ["", name + ": " + what, "%-19s%30s%30s" % ("", "GPU: read, true (J), error", "CPU: read, true (J), error")]
        for r in sorted((r for r in rows if r["scenario"] == name), key=lambda r: r["tool"] != "joulemark"):
            if r["error"]:
                lines.append("%-19s %s" % (NAMES[r["tool"]], r["error"]))
                continue
            gpu, cpu = pairs(r)
            note = "  invalid: " + ", ".join(r["said"]) if r.get("said") else ""
            lines.append(("%-19s%s%s" % (NAMES[r["tool"]] + " " + r["version"].split("-")[0].split("+")[0], cell(*gpu), cell(*cpu))).rstrip())
            if note:
                lines.append(" " * 19 + note)
    return "\n".join(lines[1:])

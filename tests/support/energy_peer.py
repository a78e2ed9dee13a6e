# SPDX-License-Identifier: Apache-2.0
"""One energy tool of PyPI as its documentation says, under orders on standard input, a JSON line each:

{"do": "prepare"}                     what its documentation calls before the load: imports, objects
{"do": "start"}, {"do": "stop"}       around the load; the answer holds the time when start returned or stop was called
{"do": "read"}                        {"version", "gpu_j", "cpu_j", "dram_j", "total_j", "took"}; null: it says none

    python energy_peer.py codecarbon|zeus|carbontracker FOLDER
"""
import json
import os
import sys
import time
import warnings

JOULES_PER_KWH = 3.6e6


def version(package):
    from importlib.metadata import version as of
    return of(package)


class CodeCarbon:
    """OfflineEmissionsTracker with a country, so that it asks no service; everything else at its default (every 15 s and at
    the end). CPU and GPU are read, RAM is its model."""

    def prepare(self, folder):
        from codecarbon import OfflineEmissionsTracker
        self.tracker = OfflineEmissionsTracker(country_iso_code="FRA", log_level="error", output_dir=folder,
                                               allow_multiple_runs=True)

    def start(self):
        self.tracker.start()

    def stop(self):
        self.tracker.stop()

    def read(self):
        d = self.tracker.final_emissions_data
        return {"version": version("codecarbon"), "gpu_j": d.gpu_energy * JOULES_PER_KWH, "cpu_j": d.cpu_energy * JOULES_PER_KWH,
                "dram_j": None, "ram_model_j": d.ram_energy * JOULES_PER_KWH, "total_j": d.energy_consumed * JOULES_PER_KWH}


class Zeus:
    """ZeusMonitor with all that it finds; a first window that is thrown away starts its processes that watch for wraps."""

    def prepare(self, folder):
        from zeus.monitor import ZeusMonitor
        self.monitor = ZeusMonitor(log_file=os.path.join(folder, "zeus.csv"))
        self.monitor.begin_window("first", sync_execution=False)
        self.monitor.end_window("first", sync_execution=False)

    def start(self):
        self.monitor.begin_window("load", sync_execution=False)

    def stop(self):
        self.m = self.monitor.end_window("load", sync_execution=False)

    def read(self):
        m = self.m
        return {"version": version("zeus"), "gpu_j": sum(m.gpu_energy.values()), "cpu_j": m.cpu_energy and sum(m.cpu_energy.values()),
                "dram_j": m.dram_energy and sum(v for v in m.dram_energy.values() if v is not None), "total_j": m.total_energy}


class CarbonTracker:
    """One epoch around the load, every second as by default; what it measured is read by its own parser of its log, which is
    without the PUE of 1.58 that its printed total holds."""

    def prepare(self, folder):
        from carbontracker.tracker import CarbonTracker as Tracker
        self.folder = os.path.join(folder, "log%d" % time.monotonic_ns())
        os.mkdir(self.folder)
        self.tracker = Tracker(epochs=1, log_dir=self.folder, ignore_errors=True)

    def start(self):
        self.tracker.epoch_start()

    def stop(self):
        self.tracker.epoch_end()

    def read(self):
        from carbontracker import parser
        (log,) = parser.parse_all_logs(self.folder)
        out = {"version": version("carbontracker"), "gpu_j": None, "cpu_j": None, "dram_j": None}
        for name, part in log["components"].items():
            j = part["avg_energy_usages (J)"]
            out[name + "_j"] = None if j is None else float(j.sum())
        out["total_j"] = log["actual"] and log["actual"]["energy (kWh)"] * JOULES_PER_KWH
        return out


def main():
    warnings.simplefilter("ignore")
    peer = {"codecarbon": CodeCarbon, "zeus": Zeus, "carbontracker": CarbonTracker}[sys.argv[1]]()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # the answers have the pipe for themselves
    for line in sys.stdin:
        order = json.loads(line)["do"]
        out = {}
        before = time.monotonic_ns()
        try:
            if order == "prepare":
                peer.prepare(sys.argv[2])
            elif order == "read":
                out = peer.read()
            else:
                getattr(peer, order)()
            out["t"] = time.monotonic_ns() if order == "start" else before
        except Exception as e:  # what a tool makes of a machine is a result too
            out["error"] = f"{type(e).__name__}: {e}"
            out["t"] = before
        out["took"] = (time.monotonic_ns() - before) / 1e9
        answers.write(json.dumps(out) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()

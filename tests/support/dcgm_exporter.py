# SPDX-License-Identifier: Apache-2.0
"""A stand-in for dcgm-exporter: its text format (internal/pkg/rendermetrics of NVIDIA/dcgm-exporter 4.x), from what
libdcgm answers about the simulated GPUs. The declarations are made here anew from DCGM's headers, by field."""
import ctypes
import datetime
import http.server
import json
import os
import subprocess
import threading
import time

FE_GPU, FE_SWITCH, FE_GPU_I, FE_CPU = 1, 3, 4, 7
# field, name up to 4.5, name from 4.6 on, type, help (etc/default-counters.csv)
GPU_FIELDS = [
    (100, "DCGM_FI_DEV_SM_CLOCK", "DCGM_FI_DEV_SM_CLOCK_MHZ", "gauge", "SM clock frequency (in MHz)."),
    (150, "DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_GPU_TEMP_CELSIUS", "gauge", "GPU temperature (in C)."),
    (155, "DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_DEV_BOARD_POWER_WATTS", "gauge", "Power draw (in W)."),
    (156, "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "counter", "Total energy consumption since boot (in mJ)."),
    (164, "DCGM_FI_DEV_ENFORCED_POWER_LIMIT", "DCGM_FI_DEV_BOARD_POWER_LIMIT_ENFORCED_WATTS", "gauge", "Enforced power limit (in W)."),
]
CPU_FIELDS = [(1130, "DCGM_FI_DEV_CPU_POWER_UTIL_CURRENT", "DCGM_FI_DEV_CPU_POWER_WATTS", "gauge", "CPU power."),
              (1132, "DCGM_FI_DEV_SYSIO_POWER_UTIL_CURRENT", "DCGM_FI_DEV_SYSIO_POWER_UTIL_CURRENT", "gauge", "SysIO power.")]
SWITCH_FIELDS = [(705, "DCGM_FI_DEV_NVSWITCH_POWER_VDD", "DCGM_FI_DEV_NVSWITCH_POWER_VDD_WATTS", "gauge", "NvSwitch VDD power.")]


class Value(ctypes.Structure):
    class Union(ctypes.Union):
        _fields_ = [("i64", ctypes.c_int64), ("dbl", ctypes.c_double), ("str", ctypes.c_char * 256), ("blob", ctypes.c_char * 4096)]

    _fields_ = [("version", ctypes.c_uint), ("entityGroupId", ctypes.c_int), ("entityId", ctypes.c_uint), ("fieldId", ctypes.c_ushort),
                ("fieldType", ctypes.c_ushort), ("status", ctypes.c_int), ("unused", ctypes.c_uint), ("ts", ctypes.c_int64), ("value", Union)]


assert ctypes.sizeof(Value) == 4128


class Pair(ctypes.Structure):
    _fields_ = [("entityGroupId", ctypes.c_int), ("entityId", ctypes.c_uint)]


class Engine:
    """An embedded host engine over the state file; OSError where the library cannot be loaded."""

    def __init__(self, lib, state):
        os.environ["JOULEMARK_SIM_GPU"] = state
        self.lib = ctypes.CDLL(lib)
        self.handle = ctypes.c_size_t()
        assert self.lib.dcgmInit() == 0 and self.lib.dcgmStartEmbedded(1, ctypes.byref(self.handle)) == 0

    def close(self):
        self.lib.dcgmStopEmbedded(self.handle)
        self.lib.dcgmShutdown()

    def entities(self, group):
        ids, n = (ctypes.c_uint * 64)(), ctypes.c_int(64)
        assert self.lib.dcgmGetEntityGroupEntities(self.handle, group, ids, ctypes.byref(n), 0) == 0
        return list(ids[:n.value])

    def get(self, group, entity, field):
        """Text as the exporter writes it, and the time of the value in us; None: blank."""
        v, pair, f = Value(), Pair(group, entity), ctypes.c_ushort(field)
        assert self.lib.dcgmEntitiesGetLatestValues(self.handle, ctypes.byref(pair), 1, ctypes.byref(f), 1, 1, ctypes.byref(v)) == 0
        if v.status:
            return None, 0
        if chr(v.fieldType) == "s":
            return v.value.str.decode(), v.ts
        if chr(v.fieldType) == "i":
            return (None if v.value.i64 >= 0x7ffffffffffffff0 else str(v.value.i64)), v.ts
        return (None if v.value.dbl >= 140737488355328.0 else f"{v.value.dbl:f}"), v.ts


def truth(sim, state, uuid, us0, us1):
    """J that the GPU really drew between two stamps of the host engine; sim: the program joulemark-sim."""
    def ask(*words):
        p = subprocess.run([sim, "truth", *words, state], check=True, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
        return json.loads(p.stdout)

    whole = ask()
    day, rest = whole["t0"].split("T")
    seconds = datetime.datetime.fromisoformat(f"{day}T{rest[:8]}+00:00").timestamp()
    to_clock = whole["t0_ns"] - (int(seconds) * 10**9 + int(rest[9:18]))
    part = ask("--from", f"@{us0 * 1000 + to_clock}", "--to", f"@{us1 * 1000 + to_clock}")
    return next(g["energy_j"] for g in part["gpus"] if g["uuid"] == uuid)


def render(engine, names=0, labels="", instances=True):
    """One collection; names 0: up to 4.5, 1: from 4.6 on. Returns the text and {uuid: [(mJ, us), ...]}, one for each instance."""
    out, seen = [], {}
    gpus = {i: [engine.get(FE_GPU, i, f)[0] for f in (54, 57, 50, 1)] for i in engine.entities(FE_GPU)}
    parts = {i: [] for i in gpus}
    for e in engine.entities(FE_GPU_I) if instances else []:
        parts[e // 8].append(e)
    for field, *both, kind, text in GPU_FIELDS:
        name = both[names]
        out += [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]
        for i, (uuid, bus, model, driver) in gpus.items():
            for e in parts[i] or [None]:
                value, us = engine.get(FE_GPU, i, field) if e is None else engine.get(FE_GPU_I, e, field)
                if value is None:
                    continue
                if field == 156:
                    seen.setdefault(uuid, []).append((int(value), us))
                mig = "" if e is None else f',GPU_I_PROFILE="1g.10gb",GPU_I_ID="{e % 8 + 7}"'
                out.append(f'{name}{{gpu="{i}",UUID="{uuid}",pci_bus_id="{bus}",device="nvidia{i}",modelName="{model}"{mig},Hostname="node-7"'
                           f'{labels},DCGM_FI_DRIVER_VERSION="{driver}"}} {value}')
    for fields, group, label in ((CPU_FIELDS, FE_CPU, 'cpu="{}"'), (SWITCH_FIELDS, FE_SWITCH, 'nvswitch="nvswitch{}"')):
        ids = engine.entities(group)
        for field, *both, kind, text in fields if ids else []:
            out += [f"# HELP {both[names]} {text}", f"# TYPE {both[names]} {kind}"]
            out += [f'{both[names]}{{{label.format(i)},Hostname="node-7"}} {engine.get(group, i, field)[0]}' for i in ids]
    return "\n".join(out) + "\n", seen


class Server(http.server.ThreadingHTTPServer):
    """Serves /metrics; collects at most every `collect` seconds, as the exporter does. collected: what was ever shown."""
    daemon_threads = True

    def __init__(self, engine, collect, **how):
        super().__init__(("127.0.0.1", 0), Handler)
        self.engine, self.collect, self.how = engine, collect, how
        self.lock, self.text, self.at, self.collected, self.scrapes = threading.Lock(), "", -1e9, {}, 0
        threading.Thread(target=self.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server_port}"

    def body(self):
        with self.lock:
            self.scrapes += 1
            if time.monotonic() - self.at >= self.collect:
                self.at = time.monotonic()
                self.text, seen = render(self.engine, **self.how)
                for uuid, values in seen.items():
                    self.collected.setdefault(uuid, {}).update(values)
            return self.text.encode()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        ok = self.path == "/metrics"
        body = self.server.body() if ok else b"404 page not found\n"
        self.send_response(200 if ok else 404)
        self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass

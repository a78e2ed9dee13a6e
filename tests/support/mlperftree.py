# SPDX-License-Identifier: Apache-2.0
"""Writes MLPerf Inference power submissions for tests: a whole small tree of a given round that is in order.

    import mlperftree
    tree = mlperftree.Tree(folder, round="v5.1")          # division closed, submitter ACME, system box
    s = tree.result("llama2-70b-99", "Offline", watts=500, seconds=600)   # a session, in order in every respect
    s.watts                                               # what its plain mean is, exactly
    s.path                                                # .../results/box/llama2-70b-99/Offline
    tree.system(power_management="max performance")      # overwrites fields of the system description
    s.rewrite("run_1/spl.txt", lambda text: ...)          # changes a file and records its hash again (hashes=False: not)

Also a command: `mlperftree.py FOLDER [ROUND]`. Everything follows from the parameters: no clock, no random number.
The layout and the texts are those of mlcommons/power-dev (ptd_client_server), mlcommons/inference (LoadGen, submission
checker) and of published sessions; SHA-1 of the public tool's sources are from client.json of published sessions.
"""
import hashlib
import json
import math
import os
import sys
import time

# round -> month of its runs (Unix seconds), PTDaemon, sources that differ from those of v5.1
ROUNDS = {
    "v1.0": (1615900000, "1.9.1-0ac6bd5f-20201022"), "v1.1": (1627900000, "1.9.2-3976349f-20201208"),
    "v2.0": (1642900000, "1.9.2-3976349f-20201208"), "v2.1": (1658900000, "1.9.2-3976349f-20201208"),
    "v3.0": (1676000000, "1.10.0-ed9a21d2-20220817"), "v3.1": (1690800000, "1.10.0-ed9a21d2-20220817"),
    "v4.0": (1706900000, "1.10.0-ed9a21d2-20220817"), "v4.1": (1721748908, "1.10.0-ed9a21d2-20220817"),
    "v5.0": (1738900000, "1.11.1-69286632-20240907"), "v5.1": (1754005873, "1.11.1-69286632-20240907"),
    "v6.0": (1769900000, "1.11.1-69286632-20240907"), "v6.1": (1785600000, "1.11.1-69286632-20240907"),
}
SOURCES = {
    "__init__.py": "da39a3ee5e6b4b0d3255bfef95601890afd80709",
    "client.py": "33ca4f26368777ac06e01f9567b714a4b8063886",
    "lib/__init__.py": "da39a3ee5e6b4b0d3255bfef95601890afd80709",
    "lib/client.py": "ac2aa093c8e8bbc9569b9e2a3471bc64e58a2258",
    "lib/common.py": "611d8b29633d331eb19c9455ea3b5fa3284ed6df",
    "lib/external/__init__.py": "da39a3ee5e6b4b0d3255bfef95601890afd80709",
    "lib/external/ntplib.py": "4da8f970656505a40483206ef2b5d3dd5e81711d",
    "lib/server.py": "9bc9a3b6b9b716520658ac175913bcbbdb354336",
    "lib/source_hashes.py": "60a2e02193209e8d392803326208d5466342da18",
    "lib/summary.py": "602a9fedfa503e5544d27ab3b0067f235047efc3",
    "lib/time_sync.py": "80894ef2389e540781ff78de94db16aa4203a14e",
    "server.py": "c3f90f2f7eeb4db30727556d0c815ebc89b3d28b",
    "tests/unit/__init__.py": "da39a3ee5e6b4b0d3255bfef95601890afd80709",
    "tests/unit/test_server.py": "948c1995d4008bc2aa6c4046a34ffa3858d6d671",
    "tests/unit/test_source_hashes.py": "00468a2907583c593e6574a1f6b404e4651c221a",
}
OLD_SOURCES = {  # of v1.1 and v2.0; later ones differ from it or from SOURCES where the table below says so
    "lib/client.py": "4c2b78fb4849a7e5b584ef792d82aaed20b17f57",
    "lib/common.py": "624d0c0acc7c39aaff3674f0b99d6a09da53d1dc",
    "lib/server.py": "59c9fb92908260d3e9f81a895c7aa009742275e4",
    "lib/summary.py": "aa92f0a3f975eecd44d3c0cd0236342ccc9f941d",
    "lib/time_sync.py": "3210db56eb0ff0df57bf4293dc4d4b03fffd46f1",
    "tests/unit/test_server.py": "99ae15aef722f2000ee6ed1ae1523637bf1ae42b",
}
V41_SOURCES = {"lib/server.py": "99303c836c683aa9017ec565104e636161d02acb",
               "lib/summary.py": "aa92f0a3f975eecd44d3c0cd0236342ccc9f941d"}
ROUND_SOURCES = {
    "v1.0": {"client.py": "d1e75cb4b26101220ebd242e584cf3ca5d8f1996",
             "lib/client.py": "d42bebf5b74cb6ff3997e2a6c68422afac111a28",
             "lib/common.py": "b0bad80d8fa328a7636027d4d66ff453f8dd7889",
             "lib/server.py": "2ed36471c7af565d6c8438b2134edad1d7ddf166",
             "lib/source_hashes.py": "4cedff274c661cb1504052018fd4f00dfbf624ef",
             "lib/summary.py": "0db15d783907aa92038281af4e465545c0648ddb",
             "lib/time_sync.py": "76051226ec89287839723352f4162aaa24e0546a",
             "server.py": "99e1310e3f76292aef1b8792ce6b8c82f1d44d8b",
             "tests/unit/test_server.py": "64f11775bfed35232a0e8bb9593c0ff992432c59",
             "tests/unit/test_source_hashes.py": "cb41a7261eaf7d94ba5c0aae9c523174f6204be3",
             "__init__.py": None, "lib/external/__init__.py": None, "tests/unit/__init__.py": None},
    "v1.1": OLD_SOURCES, "v2.0": OLD_SOURCES,
    "v2.1": {**OLD_SOURCES, "lib/server.py": "cda0cdfaee9bfa1249c64a7dd4f89b7bf1b279f0"},
    "v3.0": {**OLD_SOURCES, "lib/server.py": "cda0cdfaee9bfa1249c64a7dd4f89b7bf1b279f0"},
    "v3.1": {"lib/server.py": "c7af63c31bb2fbedea4345f571f6e3507d268ada",
             "lib/summary.py": "aa92f0a3f975eecd44d3c0cd0236342ccc9f941d",
             "lib/time_sync.py": "122eba67a9abc85635223e054def53be1367ade2"},
    "v4.1": V41_SOURCES,
}
ROUND_SOURCES["v4.0"] = ROUND_SOURCES["v3.1"]
ROUND_SOURCES["v3.1"] = {**OLD_SOURCES, "lib/client.py": "c146491755e219a28d440b31f83998dbd5532483",
                         "lib/common.py": "611d8b29633d331eb19c9455ea3b5fa3284ed6df",
                         "lib/server.py": "8054263a14dedddcf8e1c01adc19596c21bad591",
                         "tests/unit/test_server.py": "948c1995d4008bc2aa6c4046a34ffa3858d6d671"}
ANALYZERS = {  # device type -> name in Identify, identity, firmware, name in analyzer_table
    8: ("YokogawaWT210", "YOKOGAWA;760401;0;F1.12", "1.12", "WT210"),
    49: ("YokogawaWT310E", "YOKOGAWA;WT310E;C3VA21014V;F1.04", "1.04", "WT310E"),
    48: ("YokogawaWT500_multichannel", "YOKOGAWA;760203;C2WL25040V;F1.31", "1.31", "WT500"),
    77: ("YokogawaWT330_multichannel", "YOKOGAWA;WT333E;C3UJ12345V;F1.04", "1.04", "WT333E"),
}
GO = "Starting untimed measurement, maximum 500000 samples at 1000ms with 0 rampup samples"
LLM = ("gptj", "llama", "mixtral", "gpt3", "deepseek", "qwen", "gpt-oss")


def stamp(t):
    """MM-DD-YYYY HH:MM:SS.mmm in UTC of t in milliseconds."""
    return time.strftime("%m-%d-%Y %H:%M:%S", time.gmtime(t // 1000)) + f".{t % 1000:03d}"


def sha1(data):
    return hashlib.sha1(data).hexdigest()


class Session:
    """One result with power. samples: watts of the load window, one a second (None: a missed sample)."""

    def __init__(self, path, rnd, scenario, claimed=None, watts=500.0, seconds=600, samples=None, rate=100.0,
                 tokens_per_sample=294.0, model="resnet50", device=49, channels=0, start=None, label="", idle=10,
                 director_offset=0.0, same_machine=False, performance=True, overrange=()):
        self.path, self.round, self.scenario, self.claimed = path, rnd, scenario, claimed or scenario
        self.model, self.seconds, self.rate, self.device = model, seconds, rate, device
        self.channels = channels or (3 if device in (48, 77) else 0)
        self.start = int((start if start is not None else ROUNDS[rnd][0]) * 1000)
        self.offset, self.same_machine, self.idle = director_offset, same_machine, idle
        self.tokens_per_sample = tokens_per_sample if any(k in model for k in LLM) else None
        # one sample strictly inside the window for every second of it
        n = max(0, int(seconds))
        self.samples = list(samples) if samples is not None else [watts + (i % 5 - 2) * watts / 1000 for i in range(n)]
        self.overrange = set(overrange)  # places in samples that are written as over-range
        good = [round(w, 6) for i, w in enumerate(self.samples) if w is not None and i not in self.overrange]
        self.watts = math.fsum(good) / len(good) if good else float("nan")
        self.session = time.strftime("%Y-%m-%d_%H-%M-%S", time.gmtime(self.start // 1000)) + (f"_{label}" if label else "")
        self.files = {}
        if performance:
            self.write()

    # ---- times of a session, in ms
    def plan(self):
        t = self.start
        span = int(self.seconds * 1000)
        out = {}
        for mode in ("ranging", "testing"):
            go = t + 23000
            load = go + self.idle * 1000 + 400
            out[mode] = {"begin": t, "go": go, "load": load, "end": load + span, "stop": load + span + 5000,
                         "done": load + span + 16000}
            t = out[mode]["done"] + 100
        return out

    def spl(self, mode, load, samples, idle):
        lines, t = [], load - idle * 1000 - 500
        watts = [min(w for w in samples if w is not None) / 4 if any(w is not None for w in samples) else 1.0] * idle
        n_idle = len(watts)
        for i, w in enumerate(watts + list(samples) + watts[:4]):
            t += 1000
            if w is None:
                row = "Watts,-2.000000,Volts,-2.000000,Amps,-2.000000,PF,-2.000000"
            else:
                amps = w / 230 / 0.97
                over = mode == "testing" and i - n_idle in self.overrange
                row = (f"Watts,{-3 - w if over else w:.6f},Volts,230.000000,Amps,{-3 - amps if over else amps:.6f},PF,0.970000")
            line = f"Time,{stamp(t)},{row},Mark,{self.session}_{mode}"
            for k in range(self.channels):
                line += f",Ch{k + 1}," + (row if w is None else
                                          f"Watts,{w / self.channels:.6f},Volts,230.000000,Amps,"
                                          f"{w / self.channels / 230 / 0.97:.6f},PF,0.970000")
            lines.append(line)
        return "\n".join(lines) + "\n" + ("\n" if self.round >= "v4.1" else "")

    def numbers(self, span):
        """Facts of a run in LoadGen's words."""
        if self.scenario == "SingleStream":
            q, per = int(self.rate * span / 1000), 1
        elif self.scenario == "MultiStream":
            q, per = int(self.rate * span / 8000), 8
        elif self.scenario == "Offline":
            q, per = 1, int(self.rate * span / 1000)
        else:
            q, per = int(self.rate * span / 1000), 1
        return q, per

    def detail(self, load, end):
        span = end - load
        q, per = self.numbers(span)
        qps = q * per * 1000 / span if span else 0
        big = {"llama2-70b": 2400000, "mixtral": 2400000}
        least = max([600000] + [v for k, v in big.items() if self.model.startswith(k) and span >= v])
        rows = [("loadgen_version", self.round[1:] + " @ 0000000000"), ("sut_name", "SUT"),
                ("test_datetime", time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(load // 1000))),
                ("requested_scenario", self.scenario), ("requested_test_mode", "PerformanceOnly"),
                ("requested_min_duration_ms", min(least, 600000)), ("effective_scenario", self.scenario),
                ("effective_test_mode", "PerformanceOnly"), ("effective_samples_per_query", per),
                ("effective_min_duration_ms", least), ("effective_max_duration_ms", 0),
                ("effective_min_query_count", 1 if self.scenario == "Offline" else 100),
                ("effective_min_sample_count", 24576), ("effective_qsl_rng_seed", 1780908523862526354),
                ("effective_sample_index_rng_seed", 14771362308971278857),
                ("effective_schedule_rng_seed", 18209322760996052031), ("effective_performance_sample_count", 1024),
                ("generated_query_count", q), ("generated_samples_per_query", per),
                ("power_begin", stamp(load)), ("power_end", stamp(end)), ("result_validity", "VALID"),
                ("result_min_duration_met", True), ("result_min_queries_met", True), ("early_stopping_met", True)]
        lat = 1e9 / qps * 0.9 if qps else 0
        if self.scenario == "Offline":
            rows += [("result_samples_per_second", qps)]
            if self.tokens_per_sample:
                rows += [("result_tokens_per_second", qps * self.tokens_per_sample)]
        elif self.scenario in ("Server", "Interactive"):
            rows += [("result_scheduled_samples_per_sec", qps), ("result_completed_samples_per_sec", qps)]
            if self.tokens_per_sample:
                rows += [("result_completed_tokens_per_second", qps * self.tokens_per_sample),
                         ("result_first_token_99.00_percentile_latency_ns", 4e8),
                         ("result_time_per_output_token_99.00_percentile_ns", 3e7),
                         ("result_time_to_output_token_99.00_percentile_ns", 3e7)]
        else:
            rows += [("result_query_count", q), ("result_qps_with_loadgen_overhead", qps / per),
                     ("early_stopping_latency_ss", int(lat * per)), ("early_stopping_latency_ms", int(lat * per)),
                     ("result_90.00_percentile_latency_ns", int(lat * per)),
                     ("result_99.00_percentile_latency_ns", int(lat * per))]
        rows += [("result_query_count", q)] if self.scenario in ("Offline", "Server", "Interactive") else []
        rows += [("result_mean_latency_ns", int(lat * per)), ("result_min_latency_ns", int(lat * per * 0.8)),
                 ("result_max_latency_ns", int(lat * per * 1.5))]
        out = []
        for i, (k, v) in enumerate(rows):
            out.append(":::MLLOG " + json.dumps({"key": k, "value": v, "time_ms": round(0.01 + i * 0.001, 6),
                                                 "namespace": "mlperf::logging", "event_type": "POINT_IN_TIME",
                                                 "metadata": {"is_error": False, "is_warning": False,
                                                              "file": "test_settings_internal.cc", "line_no": 100 + i,
                                                              "pid": 4711, "tid": 4711}}))
        return "\n".join(out) + "\n"

    def summary(self, load, end):
        span = end - load
        q, per = self.numbers(span)
        qps = q * per * 1000 / span if span else 0
        head = {"Offline": f"Samples per second: {qps:g}", "Server": f"Completed samples per second    : {qps:.2f}",
                "Interactive": f"Completed samples per second    : {qps:.2f}",
                "SingleStream": f"90th percentile latency (ns) : {int(9e8 / qps) if qps else 0}",
                "MultiStream": f"99th percentile latency (ns) : {int(7.2e9 / qps) if qps else 0}"}[self.scenario]
        return (f"================================================\nMLPerf Results Summary\n"
                f"================================================\nSUT name : SUT\nScenario : {self.scenario}\n"
                f"Mode     : PerformanceOnly\n{head}\nResult is : VALID\n  Min duration satisfied : Yes\n"
                f"  Min queries satisfied : Yes\n  Early stopping satisfied: Yes\n\n"
                f"================================================\nTest Parameters Used\n"
                f"================================================\nsamples_per_query : {per}\nmin_duration (ms): 600000\n"
                f"\nNo warnings encountered during test.\n\nNo errors encountered during test.\n")

    def identity(self):
        name, what, _, _ = ANALYZERS[self.device]
        if self.round == "v1.0" and self.device == 49:
            name = "YokogawaWT310"
        return (f"{name},1000,1,1,1,1,0,0,1,version={ROUNDS[self.round][1]},OS=Linux 6.8.0-71-generic x86_64,mode=power,"
                f"1,1,{max(1, self.channels)},0,0,no_cal_date,{what}")

    def ptd(self, plan):
        """(ptd_messages, ptd_logs.txt)"""
        log, msgs = [], []
        name = ANALYZERS[self.device][0]
        if self.round >= "v5.1":
            log.append("Analyzer 1")
        log += [f"Selected power meter '{name}' from yokowt.cpp", "SPEC PTDaemon Tool",
                f"Version {ROUNDS[self.round][1]}", "Licensed Materials - Property of SPEC", "",
                f"Calculated PTD CRC: 0x{ROUNDS[self.round][1].split('-')[1]}, 7188608"]
        t = self.start

        def say(text, at):
            log.append(f"{stamp(at)}: {text}")

        def ask(cmd, reply, at):
            msgs.append({"cmd": cmd, "reply": reply})
            say("Response to client sent: " + reply.split("\n")[0], at)

        say(f"Uncertainty checking for {name} is activated", t + 100)
        say(f"Connected to {name} successfully", t + 101)
        ask("Hello", "Hello, PTDaemon here!", t + 110)
        ask("Identify", self.identity(), t + 111)
        ask("RR", "Ranges,1,5.000000,1,300.000000", t + 112)
        # over the whole log, as PTDaemon and the Director see it: idle, load, a few seconds after it
        known = [w for w in self.samples if w is not None]
        whole = [min(known, default=4.0) / 4] * self.idle
        whole += list(self.samples) + whole[:4]
        seen = [w for i, w in enumerate(whole) if w is not None and i - self.idle not in self.overrange]
        volts, amps = 230.0, max(seen, default=100.0) / 230 / 0.97
        if self.round >= "v3.1":
            amps *= 1.1
        span = len(self.samples) + self.idle + 4
        modern, newest = self.round >= "v4.1", self.round >= "v5.1"
        for mode in ("ranging", "testing"):
            p = plan[mode]
            first = mode == "ranging"
            ask("SR,V,Auto" if first else f"SR,V,{volts:.6f}", "Range V changed", p["begin"] + 12500)
            ask("SR,A,Auto" if first else f"SR,A,{amps!r}", "Range A changed", p["begin"] + 12600)
            if first and newest:
                ask("SR,A,Auto", "Range A changed", p["begin"] + 12700)
            amp_range = next((x for x in (0.5, 1, 2, 5, 10, 20, 40) if x >= amps * 1.1), 40)
            say("Volt range set to Auto" if first else "Volt range set to 300.000000V", p["begin"] + 12499)
            say("Ampere range set to Auto" if first else f"Amp range set to {amp_range:.6f}A", p["begin"] + 12599)
            say(f"Go with mark '{self.session}_{mode}'", p["go"])
            ask(f"Go,1000,0,{self.session}_{mode}", GO, p["go"] + 1)
            if first:
                for k in range(span):
                    say("ERROR: Can't evaluate uncertainty of this sample!", p["go"] + 500 + 1000 * k)
                    say("WARNING: Uncertainty unknown for the last measurement sample!", p["go"] + 501 + 1000 * k)
            mean = math.fsum(seen) / len(seen) if seen else 0.0
            watts = (f"Watts,{mean:.6f},{min(seen, default=0.0):.6f},{max(seen, default=0.0):.6f},{span},"
                     f"{span - len(seen)},{len(seen)}")
            sure = f"Uncertainty,0.004738,0.003624,0.009722,{span},0,{span},0"
            if not first and modern:
                ask("Watts", watts, p["stop"] - 200)
                ask("Uncertainty", sure, p["stop"] - 150)
            ask("Stop", "Stopping untimed measurement", p["stop"])
            say("Completed test", p["stop"] + 1)
            if modern:
                if self.channels:
                    ask("RL,*,*", f"Last {span} samples from sum channel and channels 1 - {self.channels}", p["stop"] + 20)
                else:
                    ask("RL,*,*", "Invalid number of parameters", p["stop"] + 20)
                    ask("RL", f"Last {span} samples", p["stop"] + 21)
                ask("Uncertainty", f"Uncertainty,-1.0,10000000.000000,0.000000,{span},0,0,{span}" if first else sure,
                    p["stop"] + 30)
                ask("Watts", watts, p["stop"] + 31)
        if not modern:
            ask("Stop", "Error: no measurement to stop", plan["testing"]["done"] - 300)
        ask("SR,V,Auto", "Range V changed", plan["testing"]["done"] - 200)
        ask("SR,A,Auto", "Range A changed", plan["testing"]["done"] - 100)
        return msgs, "\n".join(log) + "\n"

    def sides(self, plan, ptd_messages):
        """client.json and server.json without their results."""
        name, uuid_c, uuid_s = self.session, "6b80a962-6b2b-4fbb-b7b1-c50d0a3c4958", "33ef9ad6-4b3c-488e-aeca-2fab2a78f54f"
        mono_c, mono_s = 7000.0, 7000.0 if self.same_machine else 91000.0
        c, s = [], []

        def ask(cmd, reply, at):
            at /= 1000
            r = f"{at + 0.0002 + self.offset:.6f}" if reply is None else reply
            c.append({"cmd": cmd, "cmd_time": at, "reply": r, "reply_time": at + 0.0004})
            s.append({"cmd": cmd, "cmd_time": at + 0.0001 + self.offset, "reply": r,
                      "reply_time": at + 0.0003 + self.offset})

        t = self.start
        ask("mlcommons/power client v3", "mlcommons/power server v3", t)
        ask("stop", "OK", t + 1)
        ask("time", None, t + 20)
        ask(f"new,,{uuid_c}", f"OK {name},{uuid_s}", t + 40)
        phases = {"c": {}, "s": {}}
        modern = self.round >= "v4.1"
        for mode in ("ranging", "testing"):
            p = plan[mode]
            ask("time", None, p["begin"] + 60)
            ask(f"session,{name},start,{mode}", "OK", p["begin"] + 80)
            if modern:
                ask("time", None, p["load"] - 2000)
                ask("time", None, p["end"] + 1000)
            ask(f"session,{name},stop,{mode}", "OK", p["end"] + 1200)
            if modern:
                ask("time", None, p["done"] - 20)
            if self.round == "v1.0":  # its client uploads, and the server alone keeps the last message
                if mode == "testing":
                    s.append({"cmd": f"session,{name},upload,client.json", "cmd_time": p["done"] / 1000, "reply": "OK",
                              "reply_time": p["done"] / 1000 + 0.001})
            at = [p["begin"] + 80, p["load"] - 2500, p["end"] + 1150, p["done"] - 50]
            phases["c"][mode] = [[x / 1000, mono_c + (x - self.start) / 1000] for x in at]
            phases["s"][mode] = [[x / 1000 + 0.0001 + self.offset, mono_s + (x - self.start) / 1000 + 0.0001] for x in at]
        sources = {k: v for k, v in {**SOURCES, **ROUND_SOURCES.get(self.round, {})}.items() if v}
        config = {"command": ["/usr/bin/ptd-linux-x86", "-l", "/tmp/tmpx/ptd_logfile_1.log", "-p", "8888"],
                  "device_type": self.device, "interface_flag": "", "dc_flag": None, "device_port": "/dev/usbtmc0",
                  "channel": None}
        if self.device == 48:
            config["channel"] = [1] if self.round >= "v5.1" else 1
            config["command"] += ["-c", "1"]
        elif self.device == 77:
            config["channel"] = [1, 3]
            config["command"] += ["-c", "1,3"]
        config["command"] += [str(self.device), "/dev/usbtmc0"]
        both = {"version": "1.0", "timezone": 0, "modules": {"ptd_client_server.lib.common": "lib/common.py"},
                "sources": sources}
        tail = {"uuid": {"client": uuid_c, "server": uuid_s}, "session_name": name}
        client = {**both, "messages": c, **tail, "results": {}, "phases": phases["c"]}
        server = {**both, "messages": s, **tail, "results": {}, "phases": phases["s"], "ptd_messages": ptd_messages,
                  "ptd_config": [config] if self.round >= "v5.1" else config}
        if self.round >= "v5.1":
            client["ptd_config"] = [None]
        return client, server

    def write(self):
        plan = self.plan()
        msgs, ptd_logs = self.ptd(plan)
        self.client, self.server = self.sides(plan, msgs)
        for mode, folder in (("ranging", "ranging"), ("testing", "run_1")):
            p = plan[mode]
            self.put(f"{folder}/mlperf_log_detail.txt", self.detail(p["load"], p["end"]), "client")
            self.put(f"{folder}/mlperf_log_summary.txt", self.summary(p["load"], p["end"]), "client")
            self.put(f"{folder}/spl.txt", self.spl(mode, p["load"], self.samples, self.idle), "server")
        self.put("power/client.log", f"client [INFO] Session id is '{self.session}'\n", "client")
        self.put("power/server.log", f"server [INFO] session {self.session}\n", "server")
        self.put("power/ptd_logs.txt", ptd_logs, "server")
        if self.round >= "v5.1":
            self.server["results"]["run_1/ptd_out.txt"] = sha1(b"")
        self.seal()

    def put(self, rel, text, side=None):
        """Writes performance/<rel> and records its hash at that side."""
        path = os.path.join(self.path, "performance", rel)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        data = text if isinstance(text, bytes) else text.encode()
        with open(path, "wb") as f:
            f.write(data)
        if side:
            self.files[rel] = side
            getattr(self, side)["results"][rel] = sha1(data)

    def seal(self):
        for side in ("client", "server"):
            data = json.dumps(getattr(self, side), indent=4)
            self.put(f"power/{side}.json", data)
            if side == "client" and self.round == "v1.0":
                self.server["results"]["power/client.json"] = sha1(data.encode())

    def rewrite(self, rel, change, hashes=True):
        """Changes performance/<rel> by change(text); its recorded hash follows unless hashes is False."""
        path = os.path.join(self.path, "performance", rel)
        with open(path, encoding="utf-8", newline="") as f:
            text = change(f.read())
        self.put(rel, text, self.files.get(rel) if hashes else None)
        self.seal()

    def remove(self, rel):
        os.unlink(os.path.join(self.path, "performance", rel))


SYSTEM = {
    "accelerator_frequency": "", "accelerator_host_interconnect": "PCIe Gen5 x16", "accelerator_interconnect": "NVLink",
    "accelerator_interconnect_topology": "", "accelerator_memory_capacity": "80 GB",
    "accelerator_memory_configuration": "HBM3", "accelerator_model_name": "ACME Z1", "accelerator_on-chip_memories": "",
    "accelerators_per_node": 8, "boot_firmware_version": "1.2.3", "cooling": "air", "disk_controllers": "NVMe",
    "disk_drives": "SSD", "filesystem": "ext4", "framework": "ACME RT 1.0", "host_memory_capacity": "2 TB",
    "host_memory_configuration": "32x 64 GB", "host_network_card_count": "2x 100GbE", "host_networking": "Ethernet",
    "host_networking_topology": "one switch", "host_processor_caches": "", "host_processor_core_count": 56,
    "host_processor_frequency": "", "host_processor_interconnect": "", "host_processor_model_name": "ACME CPU",
    "host_processors_per_node": 2, "host_storage_capacity": "24 TB", "host_storage_type": "NVMe SSD", "hw_notes": "",
    "management_firmware_version": "4.5", "network_speed_mbit": "100000", "nics_enabled_connected": "2",
    "nics_enabled_firmware": "2", "nics_enabled_os": "2", "number_of_nodes": 1, "number_of_type_nics_installed": "2x 100GbE",
    "operating_system": "Ubuntu 24.04", "other_hardware": "none", "other_software_stack": "ACME 1.0",
    "power_management": "balanced", "power_supply_details": "ACME 80Plus Titanium",
    "power_supply_quantity_and_rating_watts": "4 x 2700 W", "status": "available", "sw_notes": "",
    "system_name": "ACME box (8x Z1)", "system_power_only": False, "system_type": "datacenter", "system_type_detail": "N/A",
}


class Tree:
    """A submission: <folder>/<division>/<submitter>/... ; or flat=True: sessions as folders with system.json beside."""

    def __init__(self, folder, round="v5.1", division="closed", submitter="ACME", system="box", flat=False, fields=None,
                 analyzer_table=True, power_settings=True):
        self.folder, self.round, self.division, self.submitter = folder, round, division, submitter
        self.name, self.flat = system, flat
        self.fields = {**SYSTEM, "division": division, "submitter": submitter, **(fields or {})}
        self.analyzer_table, self.power_settings = analyzer_table, power_settings
        self.root = folder if flat else os.path.join(folder, division, submitter)
        self.sessions, self.clock = [], ROUNDS[round][0]
        if not flat:
            for d in ("code", "documentation", "results", "systems") + (() if round >= "v6.0" else ("measurements",)):
                os.makedirs(os.path.join(self.root, d), exist_ok=True)
            self.text("documentation/calibration.md", "none\n")
            self.system()

    def text(self, rel, text):
        path = os.path.join(self.root, rel)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def system(self, **fields):
        """Sets fields of the description; None takes one out."""
        self.fields.update(fields)
        doc = {k: v for k, v in sorted(self.fields.items()) if v is not None}
        if self.flat:
            for s in self.sessions:
                with open(os.path.join(s.path, "system.json"), "w", encoding="utf-8") as f:
                    json.dump(doc, f, indent=4)
        else:
            self.text(f"systems/{self.name}.json", json.dumps(doc, indent=4))

    def nameplate(self, text):
        return self.text(f"systems/{self.name}_power.yaml", text)

    def result(self, benchmark, scenario, run_scenario=None, power=True, accuracy=True, **how):
        """A result; run_scenario: it is inferred from a run of that scenario. Sessions follow each other in time."""
        where = os.path.join(self.root, benchmark + "_" + scenario) if self.flat else \
            os.path.join(self.root, "results", self.name, benchmark, scenario)
        how.setdefault("start", self.clock)
        s = Session(where, self.round, run_scenario or scenario, claimed=scenario, model=benchmark, **how)
        if not power:
            self.without_power(s)
        self.clock = s.plan()["testing"]["done"] // 1000 + 300
        self.sessions.append(s)
        if accuracy and not self.flat:
            for name in ("mlperf_log_detail.txt", "mlperf_log_summary.txt", "mlperf_log_accuracy.json", "accuracy.txt"):
                self.text(os.path.relpath(os.path.join(where, "accuracy", name), self.root),
                          "accuracy=76.2%, good=38100, total=50000\nhash=0\n" if name == "accuracy.txt" else
                          "[]\n" if name.endswith("json") else
                          s.detail(1000, 61000).replace("PerformanceOnly", "AccuracyOnly"))
        self.measurements(s, benchmark, scenario)
        if self.flat:
            self.system()
        return s

    @staticmethod
    def without_power(s):
        for folder in ("power", "ranging"):
            for f in os.listdir(os.path.join(s.path, "performance", folder)):
                s.remove(f"{folder}/{f}")
            os.rmdir(os.path.join(s.path, "performance", folder))
        s.remove("run_1/spl.txt")

    def measurements(self, s, benchmark, scenario):
        if self.flat:
            base, level = os.path.relpath(os.path.join(s.path, "measurements"), self.root), None
        elif self.round >= "v6.0":
            base = level = f"results/{self.name}/{benchmark}/{scenario}"
        else:
            base, level = f"measurements/{self.name}/{benchmark}/{scenario}", f"measurements/{self.name}"
        impl = {"input_data_types": "fp8", "retraining": "no", "starting_weights_filename": "model",
                "weight_data_types": "fp8", "weight_transformations": "quantization"}
        name = "measurements.json" if self.round >= "v6.0" else f"{self.name}_ACME_{scenario}.json"
        self.text(f"{base}/{name}", json.dumps(impl, indent=4))
        self.text(f"{base}/README.md", "how to run\n")
        self.text(f"{base}/user.conf", f"*.{scenario}.min_duration = 600000\n")
        if self.round <= "v4.1":
            self.text(f"{base}/mlperf.conf", "# LoadGen\n")
        _, _, firmware, model = ANALYZERS[s.device]
        n = max(1, s.channels)
        prefix = f"{self.name}__" if self.flat else ""
        if self.analyzer_table:
            table = ("| Vendor   | Model  | Firmware | Config | Interface | Wiring/topology | Number of channels used | "
                     "Which channel(s) |\n|---|---|---|---|---|---|---|---|\n"
                     f"| Yokogawa | {model} | {firmware} | {'Multichannel' if n > 1 else 'Single channel'} | USB | 1P2W | "
                     f"{n} | {','.join(str(i + 1) for i in range(n))} |\n")
            at = level or base  # one for the system, unless another analyzer is used
            path = os.path.join(self.root, at, prefix + "analyzer_table.md")
            if os.path.exists(path):
                with open(path, encoding="utf-8") as f:
                    at = at if f.read() == table else base
            self.text(f"{at}/{prefix}analyzer_table.md", table)
        if self.power_settings:
            self.text(f"{level or base}/{prefix}power_settings.md", "Performance governor, no other changes.\n")


if __name__ == "__main__":
    made = Tree(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "v5.1")
    print(made.result("llama2-70b-99", "Offline", device=48).path)
    print(made.result("llama2-70b-99", "Server", device=48).path)

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Import and audit of InferenceX, TokenPowerBench, Alumet, scaphandre, and of scrapes of Kepler and dcgm-exporter. Made-up files
in the tools' own forms (published numbers where a source is named); what is right is worked out here by hand."""
import json
import os
import unittest

import energy_tools_test as base
import tap

T = 1700000000


class InferenceX(base.Files):
    # SemiAnalysisAI/InferenceX PR 2323: 8k/1k at concurrency 4 on 8 GPUs
    H200 = {"avg_total_gpu_power_w": 2381.250, "total_gpu_energy_j": 194539.406, "joules_per_successful_query": 4863.485,
            "joules_per_total_token": 0.587990}
    H100 = {"avg_total_gpu_power_w": 2533.624, "total_gpu_energy_j": 204019.925, "joules_per_successful_query": 5100.498,
            "joules_per_total_token": 0.616645}

    def row(self, hw, golden, **more):
        v = {"hw": hw, "model": "m", "framework": "sglang", "precision": "fp8", "tp": 8, "pp": 1, "pcp_size": 1, "ep": 1, "isl": 8192,
             "osl": 1024, "conc": 4, "disagg": False, "tput_per_gpu": 506.2, "output_tput_per_gpu": 56.2, "mean_ttft": 0.5,
             "power_metric_schema_version": 2, "power_valid": 1, "avg_power_w": round(golden["avg_total_gpu_power_w"] / 8, 3), **golden}
        v.update(more)
        return v

    def test_published(self):
        """40 queries, 81.696 and 80.525 s, 330,855 and 330,855 tokens follow from what is published."""
        self.load(self.write("agg_bmk.json", [self.row("h200", self.H200), self.row("h100", self.H100)]), "inferencex")
        self.value("energy", "gpu", 194539.406, "declared", 0)
        self.value("energy", "gpu", 204019.925, "declared", 1)
        self.value("j_per.total_token", "gpu", 0.587990, "declared", 0)
        self.value("j_per.request_ok", "gpu", 5100.498, "declared", 1)
        self.assertAlmostEqual(self.shown["windows"][0]["seconds"], 81.696, delta=0.001)
        self.assertAlmostEqual(self.shown["windows"][1]["seconds"], 80.525, delta=0.001)
        claims = [c for c in self.shown["claims"] if "joules_per" in c["key"] and "/" in c["key"]]
        tokens = [c["value"] for c in claims if c["key"].endswith("total_token")]
        self.assertTrue(len(tokens) == 2 and all(abs(t - 330855) < 1 for t in tokens), tokens)
        for silent in ("sums", "energy.parts", "energy.said_invalid", "energy.power", "energy.sample_mean", "energy.gpu_mean"):
            self.assertNotIn(silent, self.found)

    def one(self, **change):
        self.load(self.write("agg.json", self.row("h200", self.H200, **change)), "inferencex")
        return self.found

    def test_faults(self):
        found = self.one(power_valid=0, power_invalid_reasons=["sampling_gap_exceeded", "benchmark_window_not_bracketed"])
        self.assertIn("sampling_gap_exceeded, benchmark_window_not_bracketed", found["energy.said_invalid"]["evidence"])
        # PR 1791: samples of some of the nodes times the GPUs ever seen: 2381.25 / 400 is no 8
        self.assertIn("5.953 GPUs, and 8", self.one(avg_power_w=400.0)["energy.parts"]["evidence"])
        self.assertIn("no whole number", self.one(joules_per_successful_query=4800.0)["energy.parts"]["evidence"])
        self.assertIn("energy.negative", self.one(total_gpu_energy_j=-5.0))
        # 8k in, 1k out: per output token about nine times that per token: 1/0.58799 = 1/0.6614875 + 1/5.2919
        found = self.one(joules_per_input_token=0.661489, joules_per_output_token=5.29191)
        self.assertNotIn("energy.parts", found)
        self.assertIn("9 times", found["energy.denominator"]["text"])
        self.assertIn("energy.parts", self.one(joules_per_input_token=0.661489, joules_per_output_token=0.58799))
        found = self.one(prefill_gpu_energy_j=100000.0, decode_gpu_energy_j=94539.406)
        self.assertIn("energy.roles", found)
        self.assertNotIn("energy.parts", found)
        self.assertIn("energy.parts", self.one(prefill_gpu_energy_j=100000.0, decode_gpu_energy_j=50000.0))
        old = {k: v for k, v in self.row("h200", {"avg_total_gpu_power_w": 2381.25}).items()
               if k not in ("power_valid", "avg_total_gpu_power_w", "power_metric_schema_version")}
        self.load(self.write("old.json", dict(old, joules_per_output_token=5.29)), "inferencex")
        self.assertIn("energy.sample_mean", self.found)
        self.assertNotIn("window.short", self.found)

    def test_sidecar(self):
        doc = {"schema_version": 1, "power_valid": True, "reasons": [], "integration_method": "per_device_trapezoidal",
               "benchmark_window": {"start_time_unix": T, "end_time_unix": T + 100, "reported_duration_s": 100.0, "integration_duration_s": 100.0,
                                    "completed": 50, "total_input_tokens": 40000, "total_output_tokens": 10000},
               "expected_gpu_count": 2, "observed_gpu_count": 2, "per_gpu_energy_j": {"0": 30000.0, "1": 20000.0}, "device_issues": {},
               "metrics": {"avg_power_w": 250.0, "avg_total_gpu_power_w": 500.0, "total_gpu_energy_j": 50000.0, "joules_per_successful_query": 1000.0,
                           "joules_per_input_token": 1.25, "joules_per_output_token": 5.0, "joules_per_total_token": 1.0}}
        self.load(self.write("power_validation_x.json", doc), "inferencex")
        self.value("energy", "gpu", 50000, "declared")
        self.value("j_per.output_token", "gpu", 5, "declared")
        for silent in ("sums", "energy.parts", "energy.missing", "energy.said_invalid", "energy.window"):
            self.assertNotIn(silent, self.found)
        doc.update(power_valid=False, reasons=["expected_gpu_count_mismatch"], observed_gpu_count=1, per_gpu_energy_j={"0": 30000.0})
        self.load(self.write("power_validation_x.json", doc), "inferencex")
        for there in ("energy.said_invalid", "energy.missing", "energy.parts"):
            self.assertIn(there, self.found)

    def test_samples(self):
        """Two nodes, 300 and 500 W over 60 s: 48 kJ. A cut line, two run together, another board in its place, a GPU without samples."""
        rows = ["schema_version,timestamp_unix,scrape_seq,hostname,gpu_index,gpu_uuid,power_w"]
        for i in range(61):
            for h, w in (("n1", 300.0), ("n2", 500.0)):
                rows.append(f"1,{T + i},{i},{h},0,GPU-{h},{w}")
        roles = {"expected_devices": [{"hostname": h, "gpu_index": 0, "assignments": [{"worker_role": r}]}
                                      for h, r in (("n1", "prefill"), ("n2", "decode"))]}
        self.write("manifest.json", roles)
        self.load(self.write("samples.csv", "\n".join(rows)), "inferencex")
        self.value("energy", "gpu", 48000, "measured", rel=1e-3)
        for silent in ("rows.cut", "energy.missing", "energy.device_changed"):
            self.assertNotIn(silent, self.found)
        roles["expected_devices"].append({"hostname": "n3", "gpu_index": 0, "assignments": [{"worker_role": "decode"}]})
        self.write("manifest.json", roles)
        rows[30] += rows[31]
        rows[100] = rows[100].replace("GPU-n", "GPU-x")
        rows[-1] = rows[-1][:20]
        self.load(self.write("samples.csv", "\n".join(rows)), "inferencex")
        self.assertIn("2 lines", self.found["rows.cut"]["evidence"])
        self.assertIn("GPU-n", self.found["energy.device_changed"]["evidence"])
        self.assertIn("n3 GPU 0", self.found["energy.missing"]["evidence"])
        r = self.results("energy", "gpu")[0]
        self.assertTrue(r["value"] is None or abs(r["value"] / 48000 - 1) < 0.02)


class TokenPowerBench(base.Files):
    def doc(self, **change):
        """60 s, 30,000 tokens, 100 answers: GPUs 24 kJ (0.8 J/token), CPU 6, DRAM 0.6, the node 48 kJ."""
        e = {"duration": 60.0, "total_output_tokens": 30000, "num_responses": 100, "gpu_avg_power_w": 400.0, "gpu_energy_j": 24000.0,
             "cpu_energy_j": 6000.0, "dram_energy_j": 600.0, "system_energy_j": 48000.0, "energy_scope": "node", "warnings": [],
             "total_energy_j": 48000.0, "components_energy_j": 30600.0, "energy_per_token_j": 1.6, "gpu_mj_per_token": 800.0}
        e.update(change)
        phases = [{"submitted_s": 100 + 0.6 * i, "first_token_s": 100.1 + 0.6 * i, "finished_s": 100.6 + 0.6 * i, "output_tokens": 300,
                   "prefill_proxy_energy": {"gpu_energy_j": None}} for i in range(100)]
        return {"batch_1": {"batch_size": 1, "start_s": 100.0, "end_s": 160.0, "total_output_tokens": 30000, "num_responses": 100,
                            "output_tokens_per_s": 500.0, "energy": e, "phases": phases, "phase_status": "serial_host_boundaries"}}

    def test_results(self):
        self.load(self.write("results.json", self.doc()), "tokenpowerbench")
        self.value("energy", "gpu", 24000, "declared")
        self.value("energy", "node", 48000, "declared")
        self.value("j_per.output_token", "gpu", 0.8, "declared")
        self.assertEqual(self.shown["requests"]["ok"], 100)
        self.assertIn("0.1 s", self.found["energy.short"]["evidence"])
        for silent in ("sums", "energy.parts", "energy.without_host", "claim.differs", "boundary.unsaid"):
            self.assertNotIn(silent, self.found)
        self.load(self.write("batch_1_result.json", self.doc()["batch_1"]), "tokenpowerbench")
        self.value("energy", "gpu", 24000, "declared")

    def test_faults(self):
        def found(**change):
            self.load(self.write("results.json", self.doc(**change)), "tokenpowerbench")
            return self.found
        self.assertIn("energy.without_host", found(cpu_energy_j=None, dram_energy_j=None, system_energy_j=None, total_energy_j=None,
                                                   components_energy_j=None))
        self.assertIn("the node took", found(system_energy_j=20000.0, total_energy_j=20000.0)["energy.parts"]["evidence"])
        self.assertIn("energy.parts", found(gpu_mj_per_token=80.0))
        self.assertIn("energy.negative", found(cpu_energy_j=-262000.0, components_energy_j=-237400.0))
        self.assertIn("energy.zero", found(gpu_energy_j=0.0, gpu_mj_per_token=0.0, components_energy_j=6600.0))
        # samples: 400 + 100 W of two GPUs, 50 and 5 W of RAPL, 800 W of the node, over 20 s; a null is a gap
        power = {"gpu": [{"timestamp_s": 1000 + i / 10, "power_w": [400.0, 100.0 if i != 50 else None]} for i in range(201)],
                 "rapl": [{"timestamp_s": 1000 + i / 10, "energy_uj": {"intel-rapl:0": 5000000 * i + 7, "intel-rapl:0:0": 500000 * i}}
                          for i in range(201)],
                 "ipmi": [{"timestamp_s": 1000 + i, "power_w": 800.0, "reason": None} for i in range(21)]}
        self.load(self.write("batch_1_power_samples.json", power), "tokenpowerbench")
        self.value("energy", "node", 16000, "measured", rel=0.01)
        self.value("energy", "gpu", 10000, "measured", rel=0.02)
        self.value("energy", "device", 11100, "measured", rel=0.02)
        # the older form: a total that is its parts is that of the devices; another one is nobody's
        old = {"batch_size": 8, "engine": "vllm", "duration": 60.0, "total_output_tokens": 30000, "responses": 100, "gpu_energy": 24000.0,
               "cpu_energy": 6000.0, "dram_energy": 600.0, "total_energy": 30600.0, "gpu_energy_per_token": 0.8, "total_energy_per_token": 1.02}
        self.load(self.write("old.json", {"llama": [old, dict(old, total_energy=50000.0)]}), "tokenpowerbench")
        self.value("energy", "device", 30600, "declared")
        self.assertIn("boundary.unsaid", self.found)


class Alumet(base.Files):
    HEAD = "metric;timestamp;value;resource_kind;resource_id;consumer_kind;consumer_id;domain;__late_attributes"

    def rows(self, late=False, unit=True, gpu=300000, n=61):
        """100.5 and 10 J a second of package and DRAM, 300 J of a GPU: the sums over 60 s are 6030 + 600 + 18,000 J."""
        out = [self.HEAD.replace("domain;", "") if late else self.HEAD]
        u, m = ("_J", "_mJ") if unit else ("", "")
        for i in range(n):
            t = f"2025-11-02T21:{12 + i // 60:02d}:{i % 60:02d}.5Z"
            for d, r, v in (("package", "cpu_package;0", 100.5), ("dram", "dram;0", 10.0), ("package_total", "local_machine;", 100.5),
                            ("pp0", "cpu_package;0", 50.0), ("platform", "local_machine;", 150.0)):
                out.append(f"rapl_consumed_energy{u};{t};{v};{r};local_machine;;" + (f"domain={d}" if late else f"{d};"))
            out.append(f"nvml_energy_consumption{m};{t};{gpu};gpu;00000000:01:00.0;local_machine;;" + ("" if late else ";"))
            out.append(f"attributed_energy{u};{t};5.0;cpu_package;0;process;123;" + ("" if late else ";"))
            out.append(f"mem_total_kB;{t};16459247616;local_machine;;local_machine;;" + ("" if late else ";"))
        return "\n".join(out) + "\n"

    def test_energies(self):
        for text in (self.rows(), self.rows(late=True), self.rows(unit=False), self.rows().replace("\n", "\r\n")):
            self.load(self.write("alumet-output.csv", text), "alumet")
            self.value("energy", "gpu", 18000, "measured", rel=1e-6)
            self.value("energy", "device", 6030 + 600 + 18000, "measured", rel=1e-6)
            self.assertIn("energy.allocated", self.found)
            self.assertNotIn("energy.negative", self.found)
        self.assertIn("61 lines", self.env["import.repeats.total"])

    def test_faults(self):
        text = self.rows().replace("rapl_consumed_energy_J;2025-11-02T21:12:30.5Z;100.5", "rapl_consumed_energy_J;2025-11-02T21:12:30.5Z;-262043.2", 1)
        self.load(self.write("a.csv", text), "alumet")
        self.assertIn("energy.negative", self.found)
        self.refused(self.write("m.csv", self.HEAD + "\nmem_total_kB;2025-11-02T21:12:52Z;1;local_machine;;local_machine;;;\n"), "mem_total_kB")
        self.refused(self.write("o.csv", "\n".join(self.rows().splitlines()[:9])), "at two times")


class Scaphandre(base.Files):
    def docs(self, n=31, host=110e6, package=100e6):
        return [{"host": {"consumption": host, "timestamp": T + 2 * i, "components": {"disks": None}},
                 "consumers": [{"exe": "a", "cmdline": "a", "pid": 1, "consumption": 33e6, "timestamp": T + 2 * i}],
                 "sockets": [{"id": 0, "consumption": package, "timestamp": T + 2 * i,
                              "domains": [{"name": "dram", "consumption": 10e6, "timestamp": T + 2 * i},
                                          {"name": "core", "consumption": 60e6, "timestamp": T + 2 * i}]}]} for i in range(n)]

    def test_reports(self):
        """100 W of a socket and 10 of DRAM over 60 s; the host is their sum, and not added to them; core lies in the socket."""
        run_together = "".join(json.dumps(d) for d in self.docs())
        for text in (run_together, json.dumps(self.docs()), "\n".join(json.dumps(d) for d in self.docs()), run_together + '{"host": {"consum'):
            self.load(self.write("scaphandre.json", text), "scaphandre")
            r = [x for x in self.shown["results"] if x["metric"] == "energy" and x["value"]]
            self.assertEqual([round(x["value"]) for x in r], [6600])
            self.assertEqual(r[0]["provenance"], "estimated")
        self.assertIn("30 %", self.found["energy.allocated"]["evidence"])
        self.assertIn("rows.cut", self.found)
        self.assertNotIn("energy.parts", self.found)

    def test_faults(self):
        docs = self.docs()
        docs[10]["host"]["consumption"] = 1.1e14  # hubblo-org/scaphandre issue 442: a torn read, then everything at once
        docs[10]["sockets"][0]["consumption"] = 1e14
        self.load(self.write("s.json", docs), "scaphandre")
        self.assertIn("energy.spike", self.found)
        self.load(self.write("m.json", self.docs(host=55e6)), "scaphandre")  # the socket counted twice
        self.assertIn("energy.parts", self.found)
        docs = self.docs()
        docs[3]["host"]["consumption"] = 0
        self.load(self.write("z.json", docs), "scaphandre")
        self.assertIn("energy.zero", self.found)
        self.refused(self.write("e.json", [{"host": {"consumption": 1, "timestamp": T}, "consumers": [], "sockets": []}]), "at two times")


class Scrapes(base.Files):
    def scrapes(self, of, times):
        return "".join(f"# {t}\n" + "".join(of(i)) for i, t in enumerate(times))

    def energy(self):
        return sorted(round(x["value"]) for x in self.shown["results"] if x["metric"] == "energy" and x["value"])

    def test_kepler(self):
        """Package 100 W, DRAM 10 W, core (inside) 60, psys (around) 150, over 60 s: 6.6 kJ; two GPUs of 200 and 100 W: 18 kJ."""
        def new(i):
            for zone, w in (("package", 100), ("dram", 10), ("core", 60), ("psys", 150)):
                yield f'kepler_node_cpu_joules_total{{zone="{zone}",path="/sys/class/powercap/{zone}"}} {1e5 + w * 15 * i}\n'
            for g, w in ((0, 200), (1, 100)):
                yield f'kepler_node_gpu_joules_total{{gpu="{g}",gpu_uuid="GPU-{g}",gpu_name="x",vendor="nvidia"}} {1e4 + w * 15 * i}\n'
        self.load(self.write("kepler.txt", self.scrapes(new, [T + 15 * i for i in range(5)])), "prometheus")
        self.assertEqual(self.energy(), [6600 + 18000])
        self.assertEqual(self.env["import.gpus"], "2")

        def old(i):
            for mode, w in (("idle", 40), ("dynamic", 60)):
                yield f'kepler_node_package_joules_total{{package="0",mode="{mode}",source="rapl-sysfs",instance="n1"}} {1e5 + w * 15 * i}\n'
        self.load(self.write("old.txt", self.scrapes(old, [T + 15 * i for i in range(5)])), "prometheus")
        self.assertEqual(self.energy(), [6000])

    def test_dcgm_exporter(self):
        """NVIDIA/dcgm-exporter issue 317: an A30 whose four MIG instances show 126,272,101,025 mJ (one of them 5 J more), once."""
        mig = {3: 126272101025, 4: 126272101025, 5: 126272106318, 6: 126272101025}

        def text(i, reset=False, blank=False):
            yield "# HELP DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION Total energy consumption since boot (in mJ).\n"
            for k, mj in mig.items():
                v = mj + 165000 * 15 * i if not reset or i < 3 else 20000 + 165000 * 15 * (i - 3)
                yield (f'DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{{gpu="0",UUID="GPU-a30",GPU_I_ID="{k}",GPU_I_PROFILE="1g.6gb",modelName="NVIDIA A30",'
                       f'Hostname="h",DCGM_FI_DRIVER_VERSION="535.129.03"}} {v}\n')
            v = 9223372036854775794 if blank else 165.0
            yield f'DCGM_FI_DEV_POWER_USAGE{{gpu="0",UUID="GPU-a30",modelName="NVIDIA A30",Hostname="h"}} {v}\n'
        times = [T + 15 * i for i in range(9)]
        self.load(self.write("dcgm.txt", self.scrapes(text, times)), "prometheus")
        self.value("energy", "gpu", 165 * 120, "measured", rel=0.02)
        self.assertIn("log.mig", self.found)
        self.load(self.write("blank.txt", self.scrapes(lambda i: text(i, blank=True), times)), "prometheus")
        self.assertEqual(self.env["import.log.blank"], "9")
        self.value("energy", "gpu", 165 * 120, "measured", rel=0.02)
        self.load(self.write("reset.txt", self.scrapes(lambda i: text(i, reset=True), times)), "prometheus")  # aitra-meter PR 59
        self.assertIn("counter.reset", self.found)
        self.refused(self.write("one.txt", "".join(text(0))), "at two times")


if __name__ == "__main__":
    tap.main()

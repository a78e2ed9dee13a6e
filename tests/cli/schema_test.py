#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The JSON of show keeps to docs/schema/show.schema.json, that of --explain to explain.schema.json. The validator below knows the keywords that the schema uses and
refuses others, so that none is silently not checked."""
import json
import os
import re
import subprocess
import tempfile
import unittest

import mlperftree
import tap

JOULEMARK = os.environ["JOULEMARK"]
NOTHING = ["--sysfs-root", "/nonexistent", "--dev-root", "/nonexistent", "--nvml-lib", "/nonexistent/libnvidia-ml.so.1"]
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
KNOWN = {"$schema", "title", "description", "type", "required", "additionalProperties", "properties", "items", "const",
         "enum", "pattern", "minimum", "maximum", "minLength", "$ref", "$defs"}



def load(name):
    with open(os.path.join(os.environ["JM_SOURCE"], "docs", "schema", name + ".schema.json"), encoding="utf-8") as f:
        return json.load(f)


SCHEMA, EXPLAIN, AUDIT = load("show"), load("explain"), load("audit")
ROUNDS, COMPARISON = load("mlperf-show"), load("mlperf-compare")
CHECKED = load("mlperf-check")


def is_type(value, name):
    if name in ("number", "integer"):
        return type(value) is int or (name == "number" and type(value) is float)
    return type(value) is TYPES[name]


def check(value, schema, path="$", root=SCHEMA):
    assert set(schema) <= KNOWN, f"keyword of the schema that this test does not know: {set(schema) - KNOWN}"
    bad = []
    if "$ref" in schema:
        bad += check(value, root["$defs"][schema["$ref"].removeprefix("#/$defs/")], path, root)
    names = schema.get("type", [])
    names = [names] if isinstance(names, str) else names
    if names and not any(is_type(value, n) for n in names):
        return bad + [f"{path}: {value!r} is not {' or '.join(names)}"]
    if "const" in schema and value != schema["const"]:
        bad.append(f"{path}: {value!r} is not {schema['const']!r}")
    if "enum" in schema and value not in schema["enum"]:
        bad.append(f"{path}: {value!r} is none of {schema['enum']}")
    if isinstance(value, str):
        if "pattern" in schema and not re.search(schema["pattern"], value):
            bad.append(f"{path}: {value!r} does not match {schema['pattern']}")
        if len(value) < schema.get("minLength", 0):
            bad.append(f"{path}: too short")
    if is_type(value, "number") and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        bad.append(f"{path}: {value} is out of bounds")
    if isinstance(value, dict):
        bad += [f"{path}: no {k}" for k in schema.get("required", []) if k not in value]
        for key, item in value.items():
            sub = schema.get("properties", {}).get(key, schema.get("additionalProperties", {}))
            if sub is False:
                bad.append(f"{path}: {key} is not in the schema")
            else:
                bad += check(item, sub, f"{path}.{key}", root)
    if isinstance(value, list):
        for i, item in enumerate(value):
            bad += check(item, schema.get("items", {}), f"{path}[{i}]", root)
    return bad


class Schema(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)
        self.file = os.path.join(self.dir.name, "x.jmr")

    def holds(self, *args):
        r = subprocess.run([JOULEMARK, "show", self.file, "--json", *args], capture_output=True, text=True, timeout=60)
        self.assertIn(r.returncode, (0, 3), r.stderr)
        doc = json.loads(r.stdout, parse_constant=lambda c: self.fail(f"{c} is no JSON"))
        self.assertEqual(check(doc, SCHEMA), [])
        r = subprocess.run([JOULEMARK, "audit", self.file, "--json", "--fact", "precision=FP8"], capture_output=True, text=True,
                           timeout=60)
        self.assertIn(r.returncode, (0, 1), r.stderr)
        audit = json.loads(r.stdout, parse_constant=lambda c: self.fail(f"{c} is no JSON"))
        self.assertEqual(check(audit, AUDIT, root=AUDIT), [])
        self.assertEqual({x["id"]: x["state"] for x in audit["disclosure"]["items"]}["precision"], "declared later")
        return doc

    def test_validator_can_fail(self):
        self.assertTrue(check({"schema": "joulemark.show/2"}, SCHEMA))
        self.assertTrue(check(True, {"type": "integer"}))
        self.assertTrue(check(None, SCHEMA["$defs"]["validity"]))
        self.assertFalse(check(None, SCHEMA["$defs"]["count"]))

    def test_without_meters(self):
        subprocess.run([JOULEMARK, "run", "-q", "--no-summary", "-o", self.file, *NOTHING, "--", "true"], check=True)
        self.assertNotIn("tokens", self.holds())

    def test_simulated_gpus(self):
        subprocess.run([JOULEMARK, "sim", "gpu", "--gpus", "2", "--", JOULEMARK, "run", "-q", "--no-summary", "-m", "nvml",
                        "-o", self.file, "--label", "a label", "--", "sleep", "1"], check=True, capture_output=True)
        for profile in ("screening", "claim", "publication", "mlperf"):
            doc = self.holds("--profile", profile)
            self.assertTrue(doc["energy"])
            self.assertTrue(doc["run"]["simulated"])
        money = self.holds("--carbon", "FR,DE=40g/kWh@2024:generation", "--price", "FR=0.058", "--pue", "1.4",
                           "--wue", "1")
        rows = {(x["metric"], x.get("zone")): x for x in money["impacts"]}
        energy = next(x for x in money["results"]
                      if x["metric"] == "energy" and x["boundary"] == rows["cost", "FR"]["boundary"])
        self.assertAlmostEqual(rows["cost", "FR"]["value"], energy["value"] / 3.6e6 * 0.058, 12)
        self.assertIsNone(rows["carbon.location", "FR"]["value"])  # the shipped table is life-cycle
        self.assertAlmostEqual(rows["carbon.location", "DE"]["value"], energy["value"] / 3.6e6 * 40, 9)
        self.assertIn("PUE was not used", money["impact_note"])

    def test_imported_session(self):
        session = os.path.join(os.environ["JM_BUILD"], "corpus", "mlperf", "v4.1_NVIDIA_H200_llama2-70b-99_Server")
        if not os.path.isdir(session):
            self.skipTest("the public data are not unpacked (make corpus)")
        subprocess.run([JOULEMARK, "import", session, "-o", self.file], check=True, stdout=subprocess.DEVNULL)
        self.assertEqual(self.holds()["run"]["kind"], "imported")

    def test_load(self):
        with subprocess.Popen([JOULEMARK, "sim", "engine", "--fault", "status=500,every=4"], stdout=subprocess.PIPE,
                              text=True) as engine:
            try:
                url = json.loads(engine.stdout.readline())["url"]
                subprocess.run([JOULEMARK, "bench", url, "-q", "-t", "2s", "-w", "0s", "--idle", "0s", "--osl", "16", "-c",
                                "4", "--slo-ttft", "1s", "-o", self.file, *NOTHING], stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
            finally:
                engine.terminate()
        doc = self.holds()
        self.assertGreater(doc["requests"]["failed"], 0)
        self.assertIn("qualified", doc["requests"])
        for family in EXPLAIN["properties"]["family"]["enum"]:
            r = subprocess.run([JOULEMARK, "show", self.file, "--explain", family, "--json"], capture_output=True, text=True,
                               timeout=60)
            self.assertEqual(r.returncode, 0, r.stderr)
            told = json.loads(r.stdout, parse_constant=lambda c: self.fail(f"{c} is no JSON"))
            self.assertEqual(check(told, EXPLAIN, root=EXPLAIN), [])
            self.assertEqual(told["family"], family)
            self.assertTrue(told["rows"][0]["ours"])
            text = subprocess.run([JOULEMARK, "show", self.file, "--explain", family], capture_output=True, text=True).stdout
            self.assertLessEqual(max(map(len, text.splitlines())), 80)
        wrong = subprocess.run([JOULEMARK, "show", self.file, "--explain", "tpott"], capture_output=True, text=True)
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("did you mean tpot?", wrong.stderr)

    def mlperf(self, schema, *args, statuses=(0,)):
        r = subprocess.run([JOULEMARK, "mlperf", *args, "--json"], capture_output=True, text=True, timeout=60)
        self.assertIn(r.returncode, statuses, r.stderr)
        doc = json.loads(r.stdout, parse_constant=lambda c: self.fail(f"{c} is no JSON"))
        self.assertEqual(check(doc, schema, root=schema)[:5], [])
        return doc

    def test_mlperf_rounds(self):
        tree = mlperftree.Tree(os.path.join(self.dir.name, "v5.1"))
        s = tree.result("llama2-70b-99", "Offline", watts=100, seconds=20)
        broken = tree.result("resnet50", "Offline", watts=100, seconds=20)
        os.remove(os.path.join(broken.path, "performance", "run_1", "mlperf_log_detail.txt"))
        for more in ([], ["--no-check"], ["--pue=1.1,3"]):
            self.mlperf(ROUNDS, "show", self.dir.name, *more)
        self.mlperf(COMPARISON, "compare", s.path, s.path, "--all", "--pue=2")

    def test_mlperf_check(self):
        tree = mlperftree.Tree(os.path.join(self.dir.name, "check", "v5.1"))
        s = tree.result("llama2-70b-99", "Offline", watts=100, seconds=600)
        over = tree.result("resnet50", "Offline", watts=40, seconds=600, overrange=(5, 6))
        self.mlperf(CHECKED, "check", s.path, statuses=(0, 1))
        for more in ([], ["--all"]):
            doc = self.mlperf(CHECKED, "check", os.path.join(self.dir.name, "check"), *more, statuses=(1,))
        os.remove(os.path.join(over.path, "performance", "power", "server.json"))
        self.mlperf(CHECKED, "check", over.path, statuses=(1,))
        self.assertEqual(doc["summary"]["sessions"], 2)

    def test_mlperf_corpus(self):
        corpus = os.path.join(os.environ["JM_BUILD"], "corpus", "mlperf")
        if not os.path.isdir(corpus):
            self.skipTest("the public data are not unpacked (make corpus)")
        doc = self.mlperf(ROUNDS, "show", corpus)
        self.assertEqual([len(doc[k]) for k in ("sessions", "training", "tiny")], [17, 2, 1])
        self.mlperf(CHECKED, "check", corpus, statuses=(1,))
        self.mlperf(COMPARISON, "compare", corpus, "--a=v4.1", "--b=v5.1", statuses=(0, 1))


if __name__ == "__main__":
    tap.main()

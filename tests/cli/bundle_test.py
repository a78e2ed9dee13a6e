#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The evidence bundle: what is in it, that others can check it without joulemark, and that nothing in it can be changed
unseen."""
import csv
import hashlib
import io
import json
import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import unittest

import tap

JOULEMARK, SOURCE = os.environ["JOULEMARK"], os.environ["JM_SOURCE"]
SIGNS = os.path.exists(os.path.join(os.environ["JM_BUILD"], "src/modules/joulemark-sign.so")) and shutil.which("openssl")
sys.path.insert(0, os.path.join(SOURCE, "examples"))
import unzstd  # noqa: E402

LOAD = """
{jm} sim engine > {d}/engine & engine=$!
until [ -s {d}/engine ]; do sleep 0.02; done
url=$(sed 's/.*"url": *"\\([^"]*\\)".*/\\1/' {d}/engine)
{jm} bench $url -q -m nvml -t 5500ms -w 0s --idle 0s --osl 16 -c 4 --slo-ttft 1s --fact precision=FP8 -o {d}/bench.jmr
kill $engine
"""
DIR = tempfile.TemporaryDirectory(prefix="bundle_test.")
RUN = os.path.join(DIR.name, "bench.jmr")


def setUpModule():
    r = subprocess.run([JOULEMARK, "sim", "gpu", "--gpus", "2", "--", "sh", "-c", LOAD.format(jm=JOULEMARK, d=DIR.name)],
                       capture_output=True, text=True, timeout=240)
    assert os.path.exists(RUN), r.stdout + r.stderr


def tearDownModule():
    DIR.cleanup()


def audit(*args, **more):
    return subprocess.run([JOULEMARK, "audit", *args], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60, **more)


def files_of(path):  # the archive, by Python's own tar and our own unzstd
    with open(path, "rb") as f:
        plain = unzstd.decompress(f.read())
    with tarfile.open(fileobj=io.BytesIO(plain)) as t:
        return {m.name: t.extractfile(m).read() for m in t.getmembers()}, plain


class Bundle(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="bundle_test.")
        self.addCleanup(shutil.rmtree, self.dir)
        self.file = self.path("out/evidence.tar.zst")

    def path(self, name):
        return os.path.join(self.dir, name)

    def make(self, *args, status=0):
        r = audit(RUN, "--bundle", self.file, *args)
        self.assertEqual(r.returncode, status, r.stderr)
        return r

    def verify(self, *args, status=0, file=None):
        r = audit("--verify", file or self.file, "--json", *args)
        self.assertEqual(r.returncode, status, r.stdout + r.stderr)
        return {c["id"]: c for c in json.loads(r.stdout)["checks"]} if status < 2 else r.stderr

    def unpack(self):
        files, _ = files_of(self.file)
        for name, data in files.items():
            at = self.path(name)
            os.makedirs(os.path.dirname(at), exist_ok=True)
            with open(at, "wb") as f:
                f.write(data)
        return files

    def forge(self, files):
        """A bundle of these files, with a manifest that fits and the headers that were, with other sizes."""
        lines = [f"{hashlib.sha256(d).hexdigest()}  {n[9:]}\n" for n, d in sorted(files.items()) if "MANIFEST" not in n]
        files = {**files, "evidence/MANIFEST.sha256": "".join(lines).encode()}
        _, plain = files_of(self.file)
        forged = self.path("forged.tar.zst")
        with open(forged, "wb") as f, subprocess.Popen(["zstd", "-q", "-6", "-c"], stdin=subprocess.PIPE, stdout=f) as p:
            for n, d in sorted(files.items()):
                h = bytearray(plain[plain.index(n.encode() + b"\0"):][:512])
                h[124:135] = b"%011o" % len(d)
                h[148:156] = b" " * 8
                h[148:156] = b"%06o\0 " % sum(h)
                p.stdin.write(bytes(h) + d + b"\0" * (-len(d) % 512))
            p.stdin.write(b"\0" * 1024)
        self.assertEqual(p.returncode, 0)
        return forged

    def recompute(self, status=0, **env):
        r = subprocess.run([sys.executable, self.path("evidence/recompute.py")], capture_output=True, text=True, timeout=60,
                           env={**os.environ, "PYTHONPATH": "", **env})
        self.assertEqual(r.returncode, status, r.stdout + r.stderr)
        return r.stdout

    def test_others_can_check_it(self):
        factors = self.path("hours.csv")
        with open(factors, "w", encoding="ascii") as f:
            f.write("zone,value,unit,year,kind\nFR,40,g/kWh,2024,generation\n")
        contract = self.path("contract.yaml")
        with open(contract, "w", encoding="ascii") as f:
            f.write("slo: none\n")
        options = ("--factors", factors, "--include", contract, "--price", "FR=0.058", "--pue", "1.4,period=2025", "--slo-tpot",
                   "100ms", "--fact", "parallelism=tensor 2", "--profile", "claim")
        self.make(*options)
        files, plain = files_of(self.file)
        self.assertEqual(list(files), sorted(files))
        manifest = dict(reversed(line.split("  ", 1)) for line in files["evidence/MANIFEST.sha256"].decode().splitlines())
        self.assertEqual({"evidence/" + n: s for n, s in manifest.items()},
                         {n: hashlib.sha256(d).hexdigest() for n, d in files.items() if n != "evidence/MANIFEST.sha256"})
        with open(RUN, "rb") as f:
            self.assertEqual(files["evidence/runs/bench.jmr"], f.read())
        self.assertIn("evidence/given/contract.yaml", files)
        audited = json.loads(files["evidence/figures/bench/audit.json"])
        state = {x["id"]: x["state"] for x in audited["disclosure"]["items"]}
        self.assertEqual((state["precision"], state["parallelism"]), ("declared", "declared later"))
        for c in self.verify().values():
            self.assertEqual(c["state"], "unknown" if c["id"] == "signature" else "holds", c["text"])
        with open(self.file, "rb") as f:
            before = f.read()
        self.make(*options, "--force")
        with open(self.file, "rb") as f:
            self.assertEqual(before, f.read(), "the same runs and options give the same bytes")
        self.unpack()
        for env in ({}, {"UNZSTD": "1", "PATH": "/nonexistent"}):
            text = self.recompute(**env)
            self.assertIn("all figures agree", text)
            self.assertIn("agrees   energy, gpu", text)
            self.assertIn("agrees   tokens", text)
            self.assertIn("agrees   J/token, gpu", text)

    def test_carried_multiplied_and_over_trials(self):
        """Figures that rest on a calibration, a PUE or trials are computed again too; a PUE that was not the given one is seen."""
        run = os.path.join(SOURCE, "examples", "a.jmr")
        db = sqlite3.connect(f"file:{run}?mode=ro&immutable=1", uri=True)
        (gpu,) = db.execute("SELECT key FROM domain WHERE kind='gpu'").fetchone()
        db.close()
        level = {"u_gpu_w": 0.1, "u_w": 0.1, "windows": 1, "idle": False, "residual_w": 0, "left_out_w": None, "left_out_half_w": None}
        relation = {"boundary": "wall", "set": "wall{inlet}", "instrument": "a meter", "fixed_w": 300, "slope": 1.1, "knee_w": 400,
                    "slope_more_above": 0.5, "range_w": [100, 700], "gain": 0.01, "scatter_w": 0.1, "dof": 4, "widen": 1,
                    "covariance": [1e-6 if i % 4 == 0 else 0 for i in range(9)],
                    "levels": [{**level, "gpu_w": w, "w": 300 + 1.1 * w + 0.5 * max(0, w - 400)} for w in range(100, 701, 100)]}
        with open(self.path("node.jmcal"), "w", encoding="ascii") as f:
            json.dump({"schema": "joulemark.calibration/1", "joulemark": "0", "created": "2026-01-01T00:00:00Z", "simulated": True,
                       "machine": {"host": "example", "driver": None, "supplies": None, "ambient": None, "gpu_instrument": "nvml",
                                   "gpus": [gpu]},
                       "runs": [{"file": "x", "sha256": "0", "label": None}], "relations": [relation]}, f)
        r = audit(run, "--bundle", self.file, "--calibration", self.path("node.jmcal"), "--pue", "1.25,period=2025")
        self.assertEqual(r.returncode, 0, r.stderr)
        files = self.unpack()
        shown = json.loads(files["evidence/figures/a/show.json"])
        of = {b: [r["value"] for r in shown["results"] if r["metric"] == "energy" and r["boundary"] == b and r.get("window")]
              for b in ("gpu", "wall", "facility")}
        seconds = [w["seconds"] for w in shown["windows"] if w["role"] == "measure"]
        for e, wall, site, s in zip(of["gpu"], of["wall"], of["facility"], seconds):  # by hand
            self.assertAlmostEqual(wall / s, 300 + 1.1 * e / s + 0.5 * max(0, e / s - 400), 3)
            self.assertAlmostEqual(site, 1.25 * wall, 6)
        text = self.recompute()
        for figure in ("energy, wall, trial 1 of 6", "J/token, facility, trial 6 of 6", "energy, gpu, mean of 6 trials",
                       "J/token, facility, mean of 6 trials, ±"):
            self.assertRegex(text, "agrees   " + figure)
        self.assertNotIn("DIFFERS", text)
        t = subprocess.run([sys.executable, "-c", "import recompute as r\nprint(r.t_quantile(0.9995, 1), r.t_quantile(0.975, 4))"],
                           cwd=self.path("evidence"), capture_output=True, text=True, timeout=60, check=True).stdout.split()
        self.assertAlmostEqual(float(t[0]), 636.619, 3)  # tables of Student's distribution
        self.assertAlmostEqual(float(t[1]), 2.776445, 6)
        bundle = json.loads(files["evidence/bundle.json"])
        bundle["options"]["pue"] = "1.2,period=2025"
        with open(self.path("evidence/bundle.json"), "w", encoding="utf-8") as f:
            json.dump(bundle, f)
        text = self.recompute(1)
        self.assertIn("DIFFERS  energy, facility", text)
        self.assertNotIn("DIFFERS  energy, wall", text)

    def test_a_figure_that_was_polished(self):
        """A little less, with a manifest that fits: the scripts of both sides see it."""
        self.make()
        files = self.unpack()
        name = "evidence/figures/bench/show.json"
        doc = json.loads(files[name])
        for r in doc["results"]:
            if r["metric"] in ("energy", "j_per.output_token") and r["value"]:
                stated = r.get("interval") or {"lo": r["value"], "hi": r["value"]}  # wide where the machine was busy
                r["value"] -= max(0.01 * r["value"], stated["hi"] - stated["lo"])
        files[name] = json.dumps(doc, indent=2).encode()
        lines = [f"{hashlib.sha256(d).hexdigest()}  {n[9:]}\n" for n, d in sorted(files.items()) if "MANIFEST" not in n]
        files["evidence/MANIFEST.sha256"] = "".join(lines).encode()
        for n in (name, "evidence/MANIFEST.sha256"):
            with open(self.path(n), "wb") as f:
                f.write(files[n])
        text = self.recompute(1)
        self.assertIn("every file is what it says", text)
        self.assertIn("DIFFERS  energy, gpu", text)
        self.assertIn("NOT ALL FIGURES AGREE", text)
        if not shutil.which("zstd"):
            self.skipTest("the zstd program is not there")
        checks = self.verify(status=1, file=self.forge(files))
        self.assertEqual(checks["manifest"]["state"], "holds")
        self.assertEqual(checks["figures"]["state"], "fails")
        self.assertIn("figures/bench/show.json is not what the run gives", checks["figures"]["text"])
        # to say that another version made it helps nobody
        bundle = json.loads(files["evidence/bundle.json"])
        files["evidence/bundle.json"] = json.dumps({**bundle, "joulemark": "9.9"}).encode()
        checks = self.verify(status=1, file=self.forge(files))
        self.assertEqual(checks["figures"]["state"], "fails")
        self.assertIn("where the run gives", checks["figures"]["text"])
        of = bundle["runs"][0]["id"]
        bundle["runs"][0]["id"] = ("1" if of[0] == "0" else "0") + of[1:]
        files["evidence/bundle.json"] = json.dumps(bundle).encode()
        self.assertEqual(self.verify(status=1, file=self.forge(files))["seal"]["state"], "fails")
        # 200 times what is packed may come out, and no more
        files["evidence/runs/bench.jmr"] = bytes(2 << 20) * 200
        r = self.verify(status=1, file=self.forge(files))
        self.assertIn("more than the limit", r["container"]["text"])

    def test_every_byte(self):
        self.make()
        with open(self.file, "rb") as f:
            data = f.read()
        draw = random.Random(3)
        bad = self.path("bad.tar.zst")
        for at in [*range(8), *draw.sample(range(8, len(data)), 12), len(data) - 1]:
            other = bytearray(data)
            other[at] ^= 1 << draw.randrange(8)
            with open(bad, "wb") as f:
                f.write(other)
            r = audit("--verify", bad, "--json")
            if r.returncode == 0:  # some bit of the packing may mean nothing
                self.assertEqual(unzstd.decompress(bytes(other)), unzstd.decompress(data))
                continue
            self.assertEqual(r.returncode, 1, r.stdout + r.stderr)
            self.assertIn("fails", {c["state"] for c in json.loads(r.stdout)["checks"]})
        for cut in (0, 3, len(data) // 2, len(data) - 1):
            with open(bad, "wb") as f:
                f.write(data[:cut])
            self.verify(status=1, file=bad)
        with open(bad, "wb") as f:
            f.write(data + b"\0")
        self.assertIn("more behind the end", self.verify(status=1, file=bad)["container"]["text"])

    @unittest.skipUnless(SIGNS, "no OpenSSL")
    def test_signature(self):
        def key(name, *how):
            subprocess.run(["openssl", "genpkey", "-out", self.path(name), *how], check=True, capture_output=True)
            subprocess.run(["openssl", "pkey", "-in", self.path(name), "-pubout", "-out", self.path(name + ".pub"), "-passin",
                            "pass:x"], check=True, capture_output=True)
            return self.path(name)
        mine, other = key("mine", "-algorithm", "ed25519"), key("other", "-algorithm", "ed25519")
        self.make("--sign", mine)
        self.assertEqual(self.verify("--key", mine + ".pub")["signature"]["state"], "holds")
        self.assertIn("give that one by --key", self.verify()["signature"]["text"])
        self.assertEqual(self.verify("--key", other + ".pub", status=1)["signature"]["state"], "fails")
        self.unpack()
        r = subprocess.run(["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", mine + ".pub", "-rawin", "-in",
                            self.path("evidence/MANIFEST.sha256"), "-sigfile", self.path("evidence/MANIFEST.sha256.sig")],
                           capture_output=True, text=True)
        self.assertEqual(r.returncode, 0, r.stdout + r.stderr)
        wrong = {key("rsa", "-algorithm", "rsa", "-pkeyopt", "rsa_keygen_bits:1024"): "Ed25519 is needed",
                 key("locked", "-algorithm", "ed25519", "-aes256", "-pass", "pass:x"): "passphrase",
                 mine + ".pub": "no private key", self.path("nothing"): "cannot open", self.dir: "cannot read"}
        for name, words in wrong.items():
            r = audit(RUN, "--bundle", self.path("no.tar.zst"), "--sign", name)
            self.assertIn(r.returncode, (2, 4))
            self.assertIn(words, r.stderr)
            self.assertEqual(r.stderr.count("\n"), 1)
            self.assertFalse(os.path.exists(self.path("no.tar.zst")))
        self.assertIn("no public key", self.verify("--key", mine, status=2))
        self.assertIn("Ed25519 is needed", self.verify("--key", self.path("rsa.pub"), status=2))
        bare = {**os.environ, "JM_MODULE_DIR": "/nonexistent"}
        r = audit(RUN, "--bundle", self.path("no.tar.zst"), "--sign", mine, env=bare)
        self.assertIn("signing is not available", r.stderr)
        r = audit("--verify", self.file, "--json", env=bare)  # the rest is checked all the same
        self.assertEqual((r.returncode, json.loads(r.stdout)["checks"][1]["state"]), (0, "unknown"))

    def test_refused(self):
        self.make()
        self.assertIn("is there already", self.make(status=4).stderr)
        live = self.path("live.jmr")
        shutil.copy(RUN, live)
        with sqlite3.connect(live) as db:
            db.execute("UPDATE run SET state='recording'")
        db.close()
        r = audit(live, "--bundle", self.path("x.tar.zst"))
        self.assertIn("not sealed", r.stderr)
        self.assertNotEqual(r.returncode, 0)
        fifo = self.path("fifo")
        os.mkfifo(fifo)
        self.assertIn("no regular file", audit(RUN, "--bundle", fifo, "--force").stderr)
        for args, words in (((RUN, "--sign", "k"), "--sign belongs to --bundle"), ((RUN, "--key", "k"), "--key belongs to --verify"),
                            (("--bundle", "x"), "one run or more"), ((RUN, RUN), "one FILE"), ((), "one FILE"),
                            (("--verify", self.file, RUN), "alone"), (("--verify", RUN), None)):
            r = audit(*args, cwd=self.dir)
            self.assertIn(r.returncode, (1, 2), r.stdout + r.stderr)
            if words:
                self.assertIn(words, r.stderr)
        full = self.path("full.tar.zst")

        def small():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        r = audit(RUN, "--bundle", full, preexec_fn=small)
        self.assertEqual(r.returncode, 4)
        self.assertIn("cannot write", r.stderr)
        self.assertEqual([n for n in os.listdir(self.dir) if n.startswith("full")], [])
        two = self.path("two")
        os.mkdir(two)
        shutil.copy(RUN, os.path.join(two, "bench.jmr"))
        r = audit(RUN, os.path.join(two, "bench.jmr"), "--bundle", self.path("two.tar.zst"))
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertIn("evidence/runs/bench-2.jmr", files_of(self.path("two.tar.zst"))[0])
        self.verify(file=self.path("two.tar.zst"))


class Export(unittest.TestCase):
    def export(self, form, *args, status=0):
        r = subprocess.run([JOULEMARK, "export", RUN, "-f", form, "-o", "-", *args], capture_output=True, text=True, timeout=60)
        self.assertEqual(r.returncode, status, r.stderr)
        return r.stdout if not status else r.stderr

    def test_what_a_run_has_not(self):
        """No failure of the system, so not 4: a window that ends at the end of time has no energy to share out."""
        with tempfile.TemporaryDirectory() as d:
            cut = shutil.copy(RUN, os.path.join(d, "cut.jmr"))
            os.chmod(cut, 0o600)
            db = sqlite3.connect(cut)
            db.execute("update window set t1 = 9223372036854775807 where role = 'measure'")
            db.commit()
            db.close()
            r = subprocess.run([JOULEMARK, "export", cut, "-f", "requests-energy", "-o", "-"], capture_output=True, text=True, timeout=60)
            self.assertEqual((r.returncode, r.stdout), (1, ""))
            self.assertIn("there is no energy of requests", r.stderr)

    def test_forms(self):
        """Their numbers are held by tests/show/exports_test.c; here each is written, and read by its own kind of reader."""
        shown = json.loads(subprocess.run([JOULEMARK, "show", RUN, "--json"], capture_output=True, text=True, timeout=60).stdout)
        energy = next(x["value"] for x in shown["results"] if (x["metric"], x["boundary"]) == ("energy", "gpu"))
        for form in ("codecarbon", "ai-energy-score", "esrs", "gpai"):
            rows = list(csv.DictReader(io.StringIO(self.export(form, "--carbon", "FR"))))
            self.assertTrue(rows)
            self.assertFalse([r for r in rows if None in r], "each row has as many cells as the header")
        row = next(csv.DictReader(io.StringIO(self.export("codecarbon", "--carbon", "FR"))))
        self.assertAlmostEqual(float(row["energy_consumed"]) * 3.6e6, energy, 6)
        self.assertEqual((row["country_iso_code"], row["joulemark_provenance"]), ("FR", "simulated"))
        self.assertAlmostEqual(json.loads(self.export("ml-energy"))["steady_state_energy"], energy, 6)
        text = self.export("openmetrics")
        self.assertTrue(text.endswith("# EOF\n"))
        if shutil.which("promtool"):
            with tempfile.TemporaryDirectory() as d:
                with open(os.path.join(d, "om"), "w", encoding="utf-8") as f:
                    f.write(text)
                r = subprocess.run(["promtool", "tsdb", "create-blocks-from", "openmetrics", os.path.join(d, "om"), d],
                                   capture_output=True, text=True, timeout=60)
                self.assertEqual(r.returncode, 0, r.stdout + r.stderr)
        self.assertIn("neither own nor bought", self.export("esrs", "--fact", "purchase=rented", status=2))
        self.assertIn("is not known; task is", self.export("gpai", "--fact", "taks=x", status=2))


class Unzstd(unittest.TestCase):
    @unittest.skipUnless(shutil.which("zstd"), "the zstd program is not there")
    def test_against_the_program(self):
        draw = random.Random(1)
        kinds = [b"", b"x", draw.randbytes(20000), b"\0" * 300000, bytes(draw.choices(b"abcdefgh", k=20000)),
                 b"".join(b"%d,%d\n" % (i, i * i % 977) for i in range(20000)),
                 bytes(min(255, int(draw.expovariate(.1))) for _ in range(30000))]
        for data in kinds:
            for level in ("-1", "-19"):
                z = subprocess.run(["zstd", "-q", level, "-c"], input=data, stdout=subprocess.PIPE, check=True).stdout
                self.assertEqual(unzstd.decompress(z), data)
        for bad in (b"", b"\x28\xb5\x2f\xfd", b"PK\3\4", z[:-20]):
            with self.assertRaises((ValueError, IndexError)):
                unzstd.decompress(bad)


if __name__ == "__main__":
    tap.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""joulemark record --hosts: hosts with simulated GPUs of known power, reached by a program in ssh's place and by a real sshd;
hosts that fail, that are cut off, that answer nonsense."""
import concurrent.futures
import getpass
import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

import patience
import tap

JOULEMARK = os.environ["JOULEMARK"]
SSHD = shutil.which("sshd", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
SSH, KEYGEN = shutil.which("ssh"), shutil.which("ssh-keygen")
HELLO = "joulemark.hosts/1 "


class Hosts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.mkdtemp(prefix="hosts_test.")
        # in ssh's place: HOST COMMAND
        cls.script("ssh-here", 'exec sh -c "$2"')
        for name, watts in ("nodea", 300), ("nodeb", 500):
            os.makedirs(cls.path(name + ".proc/sys/kernel/random"))
            with open(cls.path(name + ".proc/sys/kernel/random/boot_id"), "w") as f:
                f.write(hashlib.sha256(name.encode()).hexdigest()[:36] + "\n")
            cls.script(name, "JOULEMARK_HOST=%s exec %s sim gpu --gpus 2 --seed %d --waveform const:%dW -- %s \"$@\" -m nvml --proc-root %s"
                       % (name, JOULEMARK, watts, watts, JOULEMARK, cls.path(name + ".proc")))
        with open(cls.path("hosts"), "w") as f:
            f.write("# two of them\nnodea joulemark=%s\n\nnodeb:22  joulemark=%s # the second\n" % (cls.path("nodea"), cls.path("nodeb")))

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.dir)

    @classmethod
    def path(cls, name):
        return os.path.join(cls.dir, name)

    @classmethod
    def script(cls, name, text):
        with open(cls.path(name), "w") as f:
            f.write("#!/bin/sh\n" + text + "\n")
        os.chmod(cls.path(name), 0o755)

    def start(self, out, hosts, *args, ssh=None):
        return subprocess.Popen([JOULEMARK, "record", "--hosts", hosts, "--ssh", ssh or self.path("ssh-here"), "-o", self.path(out), "--force", *args],
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def record(self, out, hosts, *args, **kw):
        p = self.start(out, hosts, "-t", "1.5s", *args, **kw)
        text, err = p.communicate(timeout=300)
        return p.returncode, text, err

    def show(self, out):
        return json.loads(subprocess.run([JOULEMARK, "show", self.path(out), "--json"], capture_output=True, text=True, timeout=60).stdout)

    def gpu(self, j):
        x = [x for x in j["results"] if x["metric"] == "energy" and x["boundary"] == "gpu"][-1]
        return x

    def hosts_file(self, name, script):
        self.script(name + ".sh", script)
        with open(self.path(name), "w") as f:
            f.write("nodea joulemark=%s\nbad joulemark=%s\n" % (self.path("nodea"), self.path(name + ".sh")))
        return self.path(name)

    def two(self):
        patience.again(self.two_at_once)

    def two_at_once(self):
        status, text, err = self.record("two.jmr", self.path("hosts"), "-g", "pre=nodea", "-g", "dec=nodeb:0", "--role", "pre=prefill")
        self.assertIn(status, (0, 3), err)
        self.assertTrue(all(len(line) <= 80 for line in text.splitlines()), text)
        j = self.show("two.jmr")
        (w,) = j["windows"]
        self.assertAlmostEqual(w["seconds"], 1.5, delta=0.4)  # what both share
        self.assertEqual(self.gpu(j)["have"], 3)  # the GPUs of the groups
        # const: the boards' energy is power times time; a counter is read in whole mJ and the window in ns
        self.assertAlmostEqual(self.gpu(j)["value"] / (w["seconds"] * (2 * 300 + 500)), 1, delta=0.02)
        pre, dec = j["groups"]
        self.assertAlmostEqual(pre["mean_w"], 600, delta=12)
        self.assertAlmostEqual(dec["mean_w"], 500, delta=10)
        env = j["run"]["environment"]
        self.assertEqual((env["merge.0.host"], env["merge.1.host"]), ("nodea", "nodeb"))
        self.assertLess(float(env["merge.1.clock.bound_s"]), 60)  # seen, where no chronyd tells
        labels = [(e["label"], e["source"]) for e in j["energy"]]
        self.assertEqual(len(labels), len(set(labels)), labels)  # each host has a GPU 0
        self.assertTrue(any("nodeb" in label for label, _ in labels))
        self.assertEqual(sorted(os.listdir(self.path("two.hosts"))), ["nodea.jmr", "nodeb.jmr"])
        # by hand from the same recordings
        r = subprocess.run([JOULEMARK, "merge", self.path("two.hosts/nodea.jmr"), self.path("two.hosts/nodeb.jmr"), "-o", self.path("hand.jmr"), "--force"],
                           capture_output=True, text=True, timeout=60)
        self.assertEqual(r.returncode, 0, r.stderr)

    def stopped(self):
        """Ctrl-C ends all in order"""
        p = self.start("stopped.jmr", self.path("hosts"), "--json")
        seen = ""
        for line in p.stderr:
            seen += line
            if "recording on 2 of 2" in line:
                time.sleep(1)
                p.send_signal(signal.SIGINT)
                break
        text, err = p.communicate(timeout=300)
        self.assertIn(p.returncode, (0, 3), seen + err)
        self.assertEqual(self.gpu(json.loads(text))["have"], 4)

    def fails(self, name, script, word):
        """one host goes wrong: it is told, the other is kept, and no total passes for that of both"""
        patience.again(lambda: self.fails_once(name, script, word))

    def fails_once(self, name, script, word):
        status, text, err = self.record(name + ".jmr", self.hosts_file(name, script))
        self.assertEqual(status, 3, err)
        self.assertIn("bad: ", err)
        self.assertIn(word, err)
        word = word if "ahead" not in word else "gone"
        j = self.show(name + ".jmr")
        (f,) = [f for f in j["validity"]["findings"] if f["id"] == "merge.missing"]
        self.assertEqual(f["severity"], "error")
        self.assertIn(word, f["text"])
        self.assertAlmostEqual(self.gpu(j)["value"] / j["windows"][0]["seconds"], 600, delta=12)
        self.assertEqual(self.gpu(j)["validity"]["status"], "invalid")

    def cut_off(self):
        """the connection breaks: the recording ends in order and is kept on the host"""
        tmp = self.path("tmp")
        os.mkdir(tmp)
        p = subprocess.Popen([self.path("nodea"), "record", "--serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             text=True, env={**os.environ, "TMPDIR": tmp})
        self.assertTrue(p.stdout.readline().startswith(HELLO + "ready "))
        p.stdin.write("begin 0\n")
        p.stdin.flush()
        self.assertEqual(p.stdout.readline(), HELLO + "begun\n")
        time.sleep(0.3)
        p.stdout.close()
        p.stdin.close()
        err = p.stderr.read()
        p.stderr.close()
        p.wait(300)
        self.assertEqual(p.returncode, 4, err)
        (kept,) = os.listdir(tmp)
        kept = os.path.join(tmp, kept, "run.jmr")
        self.assertIn(kept, err)
        r = subprocess.run([JOULEMARK, "show", kept, "--json"], capture_output=True, text=True, timeout=60)
        self.assertEqual(self.gpu(json.loads(r.stdout))["have"], 2)

    def test_all(self):
        ready = ("echo noise at login; echo '%sready 3'; while read x; do case \"$x\" in begin*) break;; "
                 "time) echo \"%stime $(( $(date +%%s%%N) + 5000000000 ))\";; esac; done; echo '%sbegun'; ") % (HELLO, HELLO, HELLO)
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            jobs = [pool.submit(self.two), pool.submit(self.stopped), pool.submit(self.cut_off)]
            for args in (("nothing", "echo 'it has no meters' >&2; exit 4", "it has no meters"),
                         ("gone", ready + "sleep 0.5; exit 255", "connection broke"),
                         ("ahead", ready + "sleep 0.5; echo gone >&2; exit 1", "s ahead of this host's"),
                         ("damaged", ready + "read x; echo '%srun 5 %s'; printf 12345; read x" % (HELLO, "0" * 64), "damaged"),
                         ("endless", ready + "read x; echo '%srun 99999999999999999 %s'; cat /dev/zero" % (HELLO, "0" * 64), "cannot be")):
                jobs.append(pool.submit(self.fails, *args))
            for job in jobs:
                job.result()

    def test_bench(self):
        """a load from here, the energy from there: an engine on a simulated node that is reached as a host"""
        node = subprocess.Popen([JOULEMARK, "sim", "node", "--gpus", "4"], stdout=subprocess.PIPE, text=True)
        self.addCleanup(node.communicate)
        self.addCleanup(node.terminate)
        at = json.loads(node.stdout.readline())
        self.script("served", 'JOULEMARK_HOST=served JOULEMARK_SIM_GPU=%s JM_NVML_LIB=%s exec %s "$@" -m nvml' % (at["state"], at["lib"], JOULEMARK))
        with open(self.path("served-hosts"), "w") as f:
            f.write("served joulemark=%s\n" % self.path("served"))
        r = subprocess.run([JOULEMARK, "bench", at["url"], "--hosts", self.path("served-hosts"), "--ssh", self.path("ssh-here"), "-q", "-g", "one=served",
                            "-t", "3s", "-w", "0s", "--idle", "0s", "--osl", "32", "-o", self.path("bench.jmr"), "--json"],
                           capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL)
        self.assertIn(r.returncode, (0, 3), r.stderr)
        j = json.loads(r.stdout)
        (w,) = [w for w in j["windows"] if w["role"] == "measure"]
        self.assertEqual((w["name"], self.gpu(j)["have"]), ("measure", 4))  # the load's own window; the GPUs of the host
        self.assertGreater(j["requests"]["ok"], 0)
        (t,) = [x for x in j["results"] if x["metric"] == "j_per.output_token" and x["boundary"] == "gpu"]
        self.assertAlmostEqual(t["value"] * j["tokens"]["output"] / self.gpu(j)["value"], 1, delta=1e-6)
        self.assertAlmostEqual(j["groups"][0]["joules"] / self.gpu(j)["value"], 1, delta=1e-9)
        self.assertEqual(sorted(os.listdir(self.path("bench.hosts"))), ["load.jmr", "served.jmr"])
        self.assertFalse([f for f in j["validity"]["findings"] if f["id"] in ("merge.coverage", "merge.missing")])

    def test_run(self):
        """a command here, the energy from there: 2 boards of 300 W over its time; its status; -g only with --hosts"""
        def run(hosts, *args):
            return subprocess.run([JOULEMARK, "run", "--hosts", hosts, "--ssh", self.path("ssh-here"), "-q", "--no-edge", "-o", self.path("run.jmr"),
                                   "--force", *args], capture_output=True, text=True, timeout=90, stdin=subprocess.DEVNULL)
        with open(self.path("one-host"), "w") as f:
            f.write("nodea joulemark=%s\n" % self.path("nodea"))
        r = run(self.path("one-host"), "--", "sh", "-c", "sleep 1.5; exit 7")
        self.assertEqual(r.returncode, 7, r.stderr)
        j = self.show("run.jmr")
        (w,) = j["windows"]
        x = self.gpu(j)
        self.assertEqual((w["name"], x["have"]), ("run", 2))
        self.assertGreaterEqual(w["seconds"], 1.5)
        # what runs here measures nothing, so that nothing of it can lack
        self.assertFalse([f for f in j["validity"]["findings"] if f["id"] in ("merge.coverage", "merge.missing")])
        self.assertAlmostEqual(x["value"] / (600 * w["seconds"]), 1, delta=0.15)
        r = run("x", "--", "touch", self.path("began"))
        self.assertEqual(r.returncode, 125, r.stderr)
        self.assertFalse(os.path.exists(self.path("began")))  # nothing runs unmeasured
        r = subprocess.run([JOULEMARK, "run", "-g", "x=a", "--", "true"], capture_output=True, text=True, timeout=60)
        self.assertIn("--hosts", r.stderr)

    def test_none(self):
        status, _, err = self.record("none.jmr", "x,y", "-q")
        self.assertEqual(status, 4, err)
        self.assertIn("joulemark=PATH", err)
        self.assertFalse(os.path.exists(self.path("none.jmr")))

    def test_usage(self):
        for hosts, args, word in (
            ("a,a", (), "twice"),
            ("-oProxyCommand=x", (), "as ssh does"),
            ("a;b", (), "as ssh does"),
            ("a:x", (), "port"),
            ("a", ("--yokogawa", "tcp://x:1"), "every host"),
            ("a", ("-g", "x"), "NAME="),
        ):
            status, _, err = self.record("usage.jmr", hosts, *args)
            self.assertEqual(status, 2, err)
            self.assertIn(word, err)
        r = subprocess.run([JOULEMARK, "record", "-g", "x=a"], capture_output=True, text=True, timeout=60)
        self.assertEqual(r.returncode, 2)
        with open(self.path("bad-hosts"), "w") as f:
            f.write("a\nb shell=zsh\n")
        status, _, err = self.record("usage.jmr", self.path("bad-hosts"))
        self.assertIn("bad-hosts:2", err)

    @unittest.skipUnless(SSHD and SSH and KEYGEN, "no sshd")
    def test_sshd(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        for key in "hostkey", "key":
            subprocess.run([KEYGEN, "-q", "-t", "ed25519", "-N", "", "-f", self.path(key)], check=True, stdin=subprocess.DEVNULL)
        shutil.copy(self.path("key.pub"), self.path("authorized"))
        if os.getuid() == 0:
            os.makedirs("/run/sshd", exist_ok=True)
        with open(self.path("sshd_config"), "w") as f:
            f.write("Port %d\nListenAddress 127.0.0.1\nHostKey %s\nAuthorizedKeysFile %s\nPidFile none\nStrictModes no\nUsePAM no\n"
                    "PasswordAuthentication no\nPermitRootLogin prohibit-password\n" % (port, self.path("hostkey"), self.path("authorized")))
        with open(self.path("ssh_config"), "w") as f:
            f.write("Host *\nHostName 127.0.0.1\nPort %d\nUser %s\nIdentityFile %s\nIdentitiesOnly yes\nStrictHostKeyChecking no\n"
                    "UserKnownHostsFile /dev/null\nLogLevel ERROR\n" % (port, getpass.getuser(), self.path("key")))
        with open(self.path("ssh-hosts"), "w") as f:
            f.write("nodea joulemark=%s\nnodeb joulemark=%s\n" % (self.path("nodea"), self.path("nodeb")))
        sshd = subprocess.Popen([SSHD, "-D", "-f", self.path("sshd_config"), "-E", self.path("sshd.log")], stdin=subprocess.DEVNULL)
        self.addCleanup(sshd.wait)
        self.addCleanup(sshd.terminate)

        def listens():
            with socket.socket() as s:
                return s.connect_ex(("127.0.0.1", port)) == 0
        try:
            patience.until(lambda: listens() or sshd.poll() is not None)
        except AssertionError:
            pass  # what the log says decides

        def attempt():
            status, _, err = self.record("ssh.jmr", self.path("ssh-hosts"), ssh="ssh -F " + self.path("ssh_config"))
            with open(self.path("sshd.log")) as f:
                log = f.read()
            if "ready" not in err and "recording on" not in err and ("not permitted" in log or "Privilege separation" in log):
                self.skipTest("sshd does not run here: " + log[-200:])
            self.assertIn(status, (0, 3), err + log)
            j = self.show("ssh.jmr")
            self.assertEqual(self.gpu(j)["have"], 4)
            self.assertAlmostEqual(self.gpu(j)["value"] / j["windows"][0]["seconds"], 1600, delta=32)
        patience.again(attempt)
        # nobody who may not log in is asked for a password
        os.remove(self.path("authorized"))
        status, text, err = self.record("denied.jmr", self.path("ssh-hosts"), ssh="ssh -F " + self.path("ssh_config"))
        self.assertEqual(status, 4, err)
        self.assertIn("Permission denied", err)


if __name__ == "__main__":
    tap.main()

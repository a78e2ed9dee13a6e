# SPDX-License-Identifier: Apache-2.0
"""The other sides of a Director, written from the protocol alone: a client of version 3, a PTDaemon that follows a
script, an NTP server, and the Director's process itself."""
import ctypes
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import uuid

FILES = ["power/ptd_logs.txt", "ranging/spl.txt", "power/server.json", "power/server.log", "run_1/spl.txt",
         "run_1/ptd_out.txt"]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def _with_us():
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG: a killed test leaves no Director behind


class Client:
    def __init__(self, port, hello=True, timeout=120):
        self.sock = socket.create_connection(("127.0.0.1", port), timeout=timeout)
        self.file = self.sock.makefile("rb")
        self.said = []
        if hello:
            assert self("mlcommons/power client v3") == "mlcommons/power server v3"

    def raw(self, data):
        self.sock.sendall(data)

    def line(self):
        got = self.file.readline()
        if not got:
            raise ConnectionError("closed")
        assert got.endswith(b"\r\n"), got
        return got[:-2].decode()

    def __call__(self, cmd):
        self.raw(cmd.encode() + b"\r\n")
        reply = self.line()
        self.said.append((cmd, reply))
        return reply

    def new(self, label=""):
        reply = self(f"new,{label},{uuid.uuid4()}")
        m = re.fullmatch(r"OK ([0-9]{4}-[0-9]{2}-[0-9]{2}_[0-9]{2}-[0-9]{2}-[0-9]{2}(_[-\w]+)?),([0-9a-f-]{36})", reply)
        assert m, reply
        uuid.UUID(m.group(3))
        return m.group(1)

    def download(self, session, name):
        self.raw(f"download,{session},{name}\r\n".encode())
        data = b""
        while True:
            line = self.line()
            if not line.isdigit():
                raise ValueError(line)
            if int(line) == 0:
                return data
            assert int(line) <= 1 << 20
            piece = self.file.read(int(line))
            assert len(piece) == int(line)
            data += piece

    def close(self):
        self.file.close()
        self.sock.close()


class Director:
    """joulemark mlperf director with a configuration; a folder of its own."""

    def __init__(self, config, *options, env=None, wait=True):
        self.dir = tempfile.TemporaryDirectory()
        self.out = os.path.join(self.dir.name, "sessions")
        conf = os.path.join(self.dir.name, "director.conf")
        with open(conf, "w") as f:
            f.write(config.replace("@OUT@", self.out))
        self.err = open(os.path.join(self.dir.name, "stderr"), "w+")
        self.process = subprocess.Popen(
            [os.environ["JOULEMARK"], "mlperf", "director", "-c", conf, "-l", "127.0.0.1:0", *options],
            stdin=subprocess.DEVNULL, stderr=self.err, stdout=subprocess.DEVNULL, env={**os.environ, **(env or {})},
            preexec_fn=_with_us)
        self.port = None
        if wait:
            self.ready()

    def text(self):
        with open(self.err.name) as f:
            return f.read()

    def ready(self, limit=120):
        end = time.monotonic() + limit
        while time.monotonic() < end:
            m = re.search(r"listens on \S+ port (\d+)", self.text())
            if m:
                self.port = int(m.group(1))
                return
            if self.process.poll() is not None:
                break
            time.sleep(0.02)
        raise AssertionError("the Director does not start: " + self.text())

    def wait(self, limit=120):
        return self.process.wait(limit)

    def end(self, sig=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(sig)
        return self.process.wait(120)

    def sessions(self):
        return sorted(d for d in os.listdir(self.out) if os.path.isdir(os.path.join(self.out, d)))

    def read(self, session, name):
        with open(os.path.join(self.out, session, name)) as f:
            return f.read()

    def json(self, session):
        return json.loads(self.read(session, "power/server.json"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.err.close()
        self.dir.cleanup()


PTD = os.path.join(os.environ.get("JM_BUILD", "build"), "sim", "ptd", "joulemark-sim-ptd")


def config(analyzers=("49",), ntp="", ours="", channel=None, server=""):
    text = f"[server]\nntpServer: {ntp}\n{server}\n[ptd]\nptd: {PTD}\nanalyzerCount: {len(analyzers)}\n"
    for i, kind in enumerate(analyzers, 1):
        text += f"[analyzer{i}]\nnetworkPort: {free_port()}\ndeviceType: {kind}\ninterfaceFlag:\ndevicePort: SIM\n"
        if kind == "77":
            text += "channel: 1,3\n"
    return text + f"[joulemark]\noutDir: @OUT@\nsettle: 10ms\n{ours}\n"


def start(*args, sim="", keep=True, **kw):
    options = ["--keep"] if keep else []
    if "once" in kw:
        options += ["--once"] if kw.pop("once") else []
    return Director(config(*args, **kw), *options, env={"JOULEMARK_SIM_PTD": "--speed 40 " + sim})


def commands(doc):
    return [re.sub(r"^(Go,1000,0,).*_", r"\1_", m["cmd"]) for m in doc["ptd_messages"]]


class NtpServer:
    """Answers with this clock plus an offset (RFC 5905, figure 8)."""

    def __init__(self, offset=0.0, stratum=2, silent=False):
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sock.bind(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.sock.getsockname()[1]
        self.offset, self.stratum, self.silent, self.asked = offset, stratum, silent, 0
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        def stamp():
            t = time.time() + self.offset + 2208988800
            return struct.pack(">II", int(t), int(t % 1 * 2**32))
        while True:
            try:
                packet, who = self.sock.recvfrom(512)
            except OSError:
                return
            self.asked += 1
            if self.silent:
                continue
            got = stamp()
            head = struct.pack(">BBbbII4s", 4 << 3 | 4, self.stratum, 6, -20, 0, 0, b"\x7f\0\0\1")
            self.sock.sendto(head + stamp() + packet[40:48] + got + stamp(), who)

    def close(self):
        self.sock.close()


def scripted_ptd():
    """PTDaemon by a script: a JSON file named by PTD_SCRIPT holds {"ask": [[cmd, reply], ...], "samples":
    [[lines], ...]}; @ID@ in it is what the marks begin with. A command that is not next ends it with status 9."""
    script = json.load(open(os.environ["PTD_SCRIPT"]))
    port = int(sys.argv[sys.argv.index("-p") + 1])
    door = socket.socket()
    door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    door.bind(("127.0.0.1", port))
    door.listen(4)
    print("scripted PTDaemon, TZ", os.environ.get("TZ"), "argv", json.dumps(sys.argv[1:]), flush=True)
    while True:
        conn, _ = door.accept()
        conn.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        f = conn.makefile("rb")
        asked, samples = iter(script["ask"]), iter(script["samples"])
        for line in f:
            cmd = line.decode().rstrip("\r\n")
            # what a trial at start says is not in the script: it only puts the ranges back after RR
            want, reply = next(asked, (None, None))
            if want and want.startswith("Go,") and cmd.startswith("Go,"):
                cmd = re.sub(r"^(Go,1000,0,).*(_(ranging|testing))$", r"\1@ID@\2", cmd)
            restore = script["ask"][-2:]
            if cmd != want and want == script["ask"][3][0] and [cmd, reply] and cmd == restore[0][0]:
                asked = iter(restore[1:])
                want, reply = restore[0]
            if cmd != want:
                print(f"SCRIPT: got {cmd!r}, expected {want!r}", flush=True)
                os._exit(9)
            conn.sendall(reply.encode() + b"\r\n")
            if reply.startswith("Last "):
                conn.sendall(b"".join(s.encode() + b"\r\n" for s in next(samples)))
        conn.close()


if __name__ == "__main__":
    scripted_ptd()

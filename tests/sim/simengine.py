# SPDX-License-Identifier: Apache-2.0
"""Starts joulemark-sim engine for a test and speaks to it over plain sockets, byte by byte where that matters."""
import json
import os
import signal
import socket
import subprocess
import tempfile
import time

SIM = os.path.join(os.environ.get("JM_BUILD", "build"), "sim", "joulemark-sim")


class Engine:
    def __init__(self, *args):
        self.truth_path = os.path.join(tempfile.mkdtemp(prefix="jm-sim-"), "truth.json")
        self.proc = subprocess.Popen([SIM, "engine", "--truth", self.truth_path, *args], stdout=subprocess.PIPE)
        line = self.proc.stdout.readline()
        if not line:
            raise RuntimeError(f"the engine did not start, status {self.proc.wait()}")
        self.ready = json.loads(line)
        self.url = self.ready["url"]
        self.port = int(self.url.rsplit(":", 1)[1])

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.stop()

    def stop(self):
        """Ends it and returns the truth."""
        if self.proc.returncode is None:
            self.proc.send_signal(signal.SIGTERM)
            self.status = self.proc.wait(60)
            self.proc.stdout.close()
            with open(self.truth_path) as f:
                self.truth = json.load(f)
            os.unlink(self.truth_path)
            os.rmdir(os.path.dirname(self.truth_path))
        return self.truth

    def connect(self):
        s = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return s

    def request(self, method, path, body=None, headers=None):
        """The bytes of a request."""
        data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\nHost: sim\r\nContent-Length: {len(data)}\r\n"
        for k, v in (headers or {}).items():
            head += f"{k}: {v}\r\n"
        return head.encode() + b"\r\n" + data

    def call(self, method, path, body=None, headers=None):
        """One request on a connection of its own: an Answer."""
        with self.connect() as s:
            s.sendall(self.request(method, path, body, headers))
            return Answer(s)

    def get(self, path, **kw):
        return self.call("GET", path, **kw)

    def post(self, path, body, **kw):
        return self.call("POST", path, body, **kw)

    def chat(self, headers=None, **kw):
        body = {"model": self.ready["model"], "messages": [{"role": "user", "content": "How much?"}], "max_tokens": 10,
                "ignore_eos": True, "stream": True, "stream_options": {"include_usage": True}}
        body.update(kw)
        return self.post("/v1/chat/completions", {k: v for k, v in body.items() if v is not None}, headers=headers)


class Answer:
    """Reads one answer to its end, whatever that is, and remembers how it ended: complete, eof, reset, timeout,
    malformed."""

    def __init__(self, s, timeout=60):
        s.settimeout(timeout)
        self.raw, self.body, self.end = b"", b"", "complete"
        self.reads = []
        self.status = None
        try:
            while b"\r\n\r\n" not in self.raw:
                self._more(s)
            head, rest = self.raw.split(b"\r\n\r\n", 1)
            lines = head.decode("latin-1").split("\r\n")
            self.version, code = lines[0].split(" ")[:2]
            self.status = int(code)
            self.headers = {}
            for line in lines[1:]:
                k, v = line.split(":", 1)
                self.headers[k.lower()] = v.strip()
            self.raw = rest
            if "chunked" in self.headers.get("transfer-encoding", ""):
                self._chunked(s)
            elif "content-length" in self.headers:
                n = int(self.headers["content-length"])
                while len(self.raw) < n:
                    self._more(s)
                self.body, self.raw = self.raw[:n], self.raw[n:]
            else:
                while True:
                    self._more(s)
        except EOFError:
            self.end = "eof"
        except ConnectionResetError:
            self.end = "reset"
        except socket.timeout:
            self.end = "timeout"
        if self.end != "complete":
            self.body += self.raw

    def _more(self, s):
        b = s.recv(65536)
        if not b:
            raise EOFError
        self.reads.append(b)
        self.raw += b

    def _chunked(self, s):
        self.chunks = 0
        while True:
            while b"\r\n" not in self.raw:
                self._more(s)
            size, self.raw = self.raw.split(b"\r\n", 1)
            try:
                n = int(size, 16)
            except ValueError:
                self.end = "malformed"
                return
            while len(self.raw) < n + 2:
                self._more(s)
            assert self.raw[n:n + 2] == b"\r\n"
            self.body, self.raw = self.body + self.raw[:n], self.raw[n + 2:]
            self.chunks += 1
            if n == 0:
                return

    def json(self):
        return json.loads(self.body)

    def events(self):
        """data of the events, by the rules of the HTML standard (any line end, comments, one optional blank)."""
        text = self.body.decode("utf-8", "replace").lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
        out = []
        for block in text.split("\n\n"):
            data = []
            for line in block.split("\n"):
                field, _, value = line.partition(":")
                if field == "data":
                    data.append(value[1:] if value.startswith(" ") else value)
            if data:
                out.append("\n".join(data))
        return out

    def chunks_json(self):
        return [json.loads(e) for e in self.events() if e.strip() != "[DONE]"]

    def done(self):
        ev = self.events()
        return bool(ev) and ev[-1].strip() == "[DONE]"

    def text(self):
        out = ""
        for c in self.chunks_json():
            for ch in c.get("choices", []):
                out += (ch.get("delta", {}).get("content") or "") + ch.get("text", "")
        return out

    def finish(self):
        r = [ch.get("finish_reason") for c in self.chunks_json() for ch in c.get("choices", [])]
        r = [x for x in r if x]
        return r[-1] if r else None

    def usage(self):
        u = [c["usage"] for c in self.chunks_json() if c.get("usage")]
        return u[-1] if u else None


def wait_for(what, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        v = what()
        if v:
            return v
        time.sleep(0.01)
    raise AssertionError("it did not come true in time")

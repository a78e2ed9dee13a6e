#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The meter plug against simulated plugs: digest login, Tasmota's query, Kasa's bytes; secrets stay secret."""
import hashlib
import http.server
import json
import os
import shutil
import socketserver
import struct
import subprocess
import tempfile
import threading
import unittest
import urllib.parse

import tap

JOULEMARK = os.environ["JOULEMARK"]
SECRET = "pl&ug secret"


def sha(text):
    return hashlib.sha256(text.encode()).hexdigest()


class Http(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def say(self, status, body=b"", *headers):
        self.send_response(status)
        for k, v in headers:
            self.send_header(k, v)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def digest_ok(self):
        """RFC 7616, worked out here anew."""
        h = self.headers.get("Authorization", "")
        if not h.startswith("Digest "):
            return False
        f = {k.strip(): v.strip().strip('"') for k, v in (x.split("=", 1) for x in h[7:].split(","))}
        ha1, ha2 = sha(f"{f['username']}:plug:{SECRET}"), sha(f"GET:{self.path}")
        return f["response"] == sha(f"{ha1}:abc123:{f['nc']}:{f['cnonce']}:auth:{ha2}") and f["uri"] == self.path

    def do_GET(self):
        s = self.server
        if s.kind == "shelly2":
            if not self.digest_ok():
                return self.say(401, b"", ("WWW-Authenticate", 'Digest qop="auth", realm="plug", nonce="abc123", algorithm=SHA-256'))
            body = {"switch:0": {"apower": 87.5, "aenergy": {"total": 1000.5, "minute_ts": 1707326880}}, "sys": {"unixtime": 1707326890}}
        else:
            q = urllib.parse.parse_qs(urllib.parse.urlparse(self.path).query)
            if q.get("password") != [SECRET] or q.get("user") != ["admin"]:
                return self.say(200, b'{"WARNING":"Need user=<username>&password=<password>"}')
            body = {"StatusSNS": {"ENERGY": {"Total": 3.185, "Power": 87.5}}}
        self.say(200, json.dumps(body).encode())


class Kasa(socketserver.BaseRequestHandler):
    @staticmethod
    def cipher(data, decode):
        out, k = bytearray(), 171
        for b in data:
            out.append(b ^ k)
            k = b if decode else out[-1]
        return bytes(out)

    def handle(self):
        n = struct.unpack(">I", self.request.recv(4))[0]
        ask = json.loads(self.cipher(self.request.recv(n), True))
        outlets = ["00", "01", "8006AB02"] if self.server.kind == "kasa strip" else []
        if ask == {"system": {"get_sysinfo": {}}}:
            body = {"system": {"get_sysinfo": {"deviceId": "8006AB", "model": "HS300(US)", "children": [{"id": x} for x in outlets]}}}
        else:
            child = ask.pop("context", {"child_ids": [None]})["child_ids"]
            assert ask == {"emeter": {"get_realtime": {}}} and len(child) == 1
            watts = {None: 87500, "8006AB00": 87500, "8006AB01": 1250}.get(child[0])
            body = {"emeter": {"get_realtime": {"power_mw": watts, "total_wh": 12, "err_code": 0} if watts else {"err_code": -1}}}
        reply = self.cipher(json.dumps(body).encode(), False)
        data = struct.pack(">I", len(reply)) + reply
        self.request.sendall(data[:7])  # in pieces, as TCP may
        self.request.sendall(data[7:])


class Tapo(http.server.BaseHTTPRequestHandler):
    """KLAP as python-kasa describes it; AES by openssl."""
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def say(self, status, body=b"", cookie=None):
        self.send_response(status)
        if cookie:
            self.send_header("Set-Cookie", cookie + ";TIMEOUT=86400")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    @staticmethod
    def aes(key, iv, data, *how):
        return subprocess.run(["openssl", "enc", "-aes-128-cbc", *how, "-K", key.hex(), "-iv", iv.hex()], input=data, capture_output=True, check=True).stdout

    def do_POST(self):
        s, body, sha = self.server, self.rfile.read(int(self.headers["Content-Length"])), lambda *x: hashlib.sha256(b"".join(x)).digest()
        auth = sha(hashlib.sha1(b"me@example.org").digest(), hashlib.sha1(SECRET.encode()).digest())
        if self.path == "/app/handshake1":
            s.sessions += 1
            s.local, s.remote, s.cookie = body, os.urandom(16), "TP_SESSIONID=%032X" % s.sessions
            return self.say(200, s.remote + sha(s.local, s.remote, auth), s.cookie)
        if self.headers.get("Cookie") != s.cookie:
            return self.say(403)
        if self.path == "/app/handshake2":
            return self.say(200 if body == sha(s.remote, s.local, auth) else 403)
        seq = int(urllib.parse.parse_qs(urllib.parse.urlparse(self.path).query)["seq"][0]).to_bytes(4, "big", signed=True)
        key, iv, sig = (sha(x, s.local, s.remote, auth)[:n] for x, n in ((b"lsk", 16), (b"iv", 12), (b"ldk", 28)))
        assert body[:32] == sha(sig, seq, body[32:])
        assert json.loads(self.aes(key, iv + seq, body[32:], "-d")) == {"method": "get_energy_usage"}
        text = json.dumps({"error_code": 0, "result": {"current_power": 87500, "today_energy": 12, "month_energy": 99}}).encode()
        data = self.aes(key, iv + seq, text)
        if s.sessions == 1:
            s.cookie = None  # the plug forgets its first session
        self.say(200, sha(sig, seq, data) + data)


class Plug(unittest.TestCase):
    def read(self, kind, password=SECRET):
        cls = socketserver.ThreadingTCPServer if kind.startswith("kasa") else http.server.ThreadingHTTPServer
        with cls(("127.0.0.1", 0), Kasa if kind.startswith("kasa") else Tapo if kind == "tapo" else Http) as srv, tempfile.TemporaryDirectory() as d:
            srv.kind, srv.daemon_threads, srv.sessions, srv.cookie = kind, True, 0, None
            threading.Thread(target=srv.serve_forever, kwargs={"poll_interval": .05}, daemon=True).start()
            at = f"127.0.0.1:{srv.server_address[1]}"
            path = os.path.join(d, "joulemark.yaml")
            with open(path, "w") as f:
                f.write(f"meters:\n  - name: plug1\n    meter: plug\n    model: {kind.split()[0]}\n    url: {'' if kind.startswith('kasa') else 'http://'}{at}\n"
                        + ("" if kind.startswith("kasa") else f"    user: {'me@example.org' if kind == 'tapo' else 'admin'}\n    password_env: PLUG_PW\n"))
            r = subprocess.run([JOULEMARK, "meters", "--json", "--measure", "100ms", "-m", "plug1", "--config", path], capture_output=True, text=True,
                               timeout=60, env={**os.environ, "PLUG_PW": password})
            srv.shutdown()
            self.assertNotIn(password, r.stdout + r.stderr)
            self.assertNotIn(urllib.parse.quote(password), r.stdout + r.stderr)
            return r.stdout + r.stderr

    def test_shelly2(self):
        text = self.read("shelly2")
        self.assertIn("87.5", text)
        self.assertIn("indicative", text)

    def test_tasmota(self):
        self.assertIn("87.5", self.read("tasmota"))

    def test_kasa(self):
        self.assertIn("87.5", self.read("kasa"))

    def test_tapo(self):
        if not shutil.which("openssl"):
            self.skipTest("no openssl")
        self.assertIn("87.5", self.read("tapo"))
        self.assertIn("does not know user and password", self.read("tapo", "wrong one"))

    def test_kasa_strip(self):
        """Each outlet by itself; one that answers with an error has no channel, and none is added to another."""
        doc = json.loads(self.read("kasa strip"))
        m = next(m for m in doc["meters"] if (m.get("configured") or {}).get("name") == "plug1")
        self.assertEqual({c["device"]: c["value"] for c in m["channels"] if c["name"] == "power"}, {"plug1/1": 87.5, "plug1/2": 1.25})

    def test_wrong_password(self):
        self.assertIn("HTTP 401", self.read("shelly2", "wrong one"))
        self.assertIn("measures no power", self.read("tasmota", "wrong one"))


if __name__ == "__main__":
    tap.main()

# SPDX-License-Identifier: Apache-2.0
"""A Redfish service from a tree of files or a dict, over TLS with a certificate of its own, that can misbehave.

    with Server({"/redfish/v1": {...}}, user="u", password="p") as s:
        s.url, s.ca, s.pin, s.log, s.fault["/redfish/v1/Chassis"] = "hang"
"""
import base64
import hashlib
import http.server
import json
import os
import ssl
import subprocess
import tempfile
import threading
import time


def tree(root, prefix=""):
    """{uri: bytes} of a folder of .../index.json."""
    out = {}
    for folder, _, files in os.walk(root):
        if "index.json" in files:
            uri = prefix + "/" + os.path.relpath(folder, root)
            with open(os.path.join(folder, "index.json"), "rb") as f:
                out[uri.rstrip("/.") or "/"] = f.read()
    return out


def captured(corpus, where, prefix=""):
    """A captured tree of the corpus with the collections that were not captured."""
    t = tree(os.path.join(corpus, "redfish", where), prefix)
    t.setdefault("/redfish/v1", {k: {"@odata.id": f"/redfish/v1/{k}"} for k in ("Chassis", "Systems", "PowerEquipment")})
    for uri in list(t):
        while uri.count("/") > 2:
            uri = uri.rsplit("/", 1)[0]
            if uri not in t:
                kids = sorted({"/".join(x.split("/")[:uri.count("/") + 2]) for x in t if x.startswith(uri + "/")})
                t[uri] = {"Members": [{"@odata.id": k} for k in kids]}
    return t


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "fake-bmc"
    disable_nagle_algorithm = True  # else each answer waits 40 ms for the acknowledgement of its header

    def log_message(self, *args):
        pass

    def answer(self, status, body=b"", headers=()):
        if isinstance(body, (dict, list)):
            body = json.dumps(body).encode()
        self.send_response(status)
        for k, v in headers:
            self.send_header(k, v)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def allowed(self):
        s = self.server.owner
        if s.user is None:
            return True
        if self.headers.get("X-Auth-Token") in s.tokens:
            return True
        want = "Basic " + base64.b64encode(f"{s.user}:{s.password}".encode()).decode()
        return s.basic and self.headers.get("Authorization") == want

    def do_GET(self):
        s = self.server.owner
        uri = self.path.rstrip("/")
        with s.lock:
            s.log.append(("GET", uri))
        fault = s.fault.get(uri)
        if fault == "hang":
            s.stop.wait(600)
            return
        if fault == "slow":
            time.sleep(.3)
        if fault == "endless":
            self.send_response(200)
            self.end_headers()
            try:
                while not s.stop.is_set():
                    self.wfile.write(b" " * 65536)
            except OSError:
                pass
            return
        if fault == "huge":
            self.send_response(200)
            self.send_header("Content-Length", str(1 << 40))
            self.end_headers()
            return
        if isinstance(fault, tuple):
            return self.answer(*fault)
        if uri != "/redfish/v1" and not self.allowed():
            return self.answer(401, {"error": {"code": "Base.1.0.AccessDenied"}})
        body = s.tree.get(uri)
        if callable(body):
            body = body()
        if body is None:
            return self.answer(404, {"error": {}})
        self.answer(200, body)

    def do_POST(self):
        s = self.server.owner
        text = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with s.lock:
            s.log.append(("POST", self.path))
        if self.path.rstrip("/") not in s.sessions_at:
            return self.answer(405)
        doc = json.loads(text)
        if (doc.get("UserName"), doc.get("Password")) != (s.user, s.password):
            return self.answer(401, {"error": {"code": "Base.1.0.AccessDenied"}})
        with s.lock:
            s.made += 1
            token = f"token-{s.made}-secret"
            s.tokens.add(token)
            s.by_uri[f"{self.path}/{s.made}"] = token
        where = f"{self.path}/{s.made}"
        headers = [("X-Auth-Token", token)] + ([("Location", where)] if s.location else [])
        self.answer(201, {"@odata.id": where}, headers)

    def do_DELETE(self):
        s = self.server.owner
        with s.lock:
            s.log.append(("DELETE", self.path))
            s.tokens.discard(s.by_uri.pop(self.path, None))
        self.answer(204)


class Quiet(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass  # a client that refuses the certificate or goes away is what tests are about


class Server:
    def __init__(self, tree, user=None, password=None, tls=True, basic=False, location=True,
                 sessions_at=("/redfish/v1/SessionService/Sessions",), expired=False, name="IP:127.0.0.1"):
        self.tree, self.user, self.password, self.basic, self.location = tree, user, password, basic, location
        self.sessions_at, self.fault, self.log, self.tokens, self.by_uri, self.made = set(sessions_at), {}, [], set(), {}, 0
        self.lock, self.stop = threading.Lock(), threading.Event()
        self.dir = tempfile.TemporaryDirectory()
        self.httpd = Quiet(("127.0.0.1", 0), Handler)
        self.httpd.owner = self
        self.port = self.httpd.server_address[1]
        if tls:
            key, self.ca = os.path.join(self.dir.name, "key.pem"), os.path.join(self.dir.name, "cert.pem")
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                            "-keyout", key, "-out", self.ca, "-days", "2", "-subj", "/CN=bmc",
                            "-addext", "subjectAltName=" + name], check=True, capture_output=True)
            if expired:
                self.renew("200101000000Z", "200102000000Z", key, name)
            with open(self.ca) as f:
                self.pin = hashlib.sha256(ssl.PEM_cert_to_DER_cert(f.read())).hexdigest()
            ctx = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            ctx.load_cert_chain(self.ca, key)
            self.httpd.socket = ctx.wrap_socket(self.httpd.socket, server_side=True, do_handshake_on_connect=False)
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"
        self.thread = threading.Thread(target=self.httpd.serve_forever, kwargs={"poll_interval": .05}, daemon=True)

    def renew(self, start, end, key, name):
        """The certificate again, for other days."""
        d = self.dir.name
        with open(d + "/ca.conf", "w") as f:
            f.write(f"[ca]\ndefault_ca=c\n[c]\ndatabase={d}/index\nnew_certs_dir={d}\nrand_serial=yes\npolicy=p\nx509_extensions=x\n"
                    f"default_md=sha256\n[p]\ncommonName=supplied\n[x]\nsubjectAltName={name}\nbasicConstraints=CA:TRUE\n")
        open(d + "/index", "w").close()
        for args in (["req", "-new", "-key", key, "-subj", "/CN=bmc", "-out", d + "/csr"],
                     ["ca", "-batch", "-selfsign", "-notext", "-config", d + "/ca.conf", "-keyfile", key, "-in", d + "/csr", "-out", self.ca,
                      "-startdate", start, "-enddate", end]):
            subprocess.run(["openssl", *args], check=True, capture_output=True)

    def forget(self):
        """As a service does that restarts."""
        with self.lock:
            self.tokens.clear()

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *args):
        self.stop.set()
        self.httpd.shutdown()
        self.httpd.server_close()
        self.dir.cleanup()

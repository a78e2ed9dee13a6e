#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A real nginx before the simulated engine: HTTP/2 with and without TLS, proxying that buffers and that does not, gzip, a
server that closes kept connections; and forward proxies, with and without a tunnel."""
import base64
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import ssl
import subprocess
import tempfile
import threading
import time
import unittest

import patience
import tap

JOULEMARK = os.environ["JOULEMARK"]
NGINX = shutil.which("nginx") or (os.path.exists("/usr/sbin/nginx") and "/usr/sbin/nginx") or None
CURL = os.path.exists(os.path.join(os.environ["JM_BUILD"], "src/modules/joulemark-curl.so"))
TLS = os.path.exists(os.path.join(os.environ["JM_BUILD"], "src/modules/joulemark-tls.so"))
NOTHING = ["--sysfs-root", "/nonexistent", "--dev-root", "/nonexistent", "--nvml-lib", "/nonexistent/libnvidia-ml.so.1"]
SHORT = ["-w", "0s", "--idle", "0s", "-t", "1s", "-c", "4", "--isl", "32", "--osl", "16", "--ignore-eos", "--drain", "5s",
         "--no-edge", "-q", "--json"]
PROXIES = ("http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY")
CONF = """
daemon off; master_process off; worker_processes 1;
pid {dir}/pid; error_log {dir}/error.log;
events {{ worker_connections 1000; }}
http {{
  access_log off; default_type text/plain;
  client_body_temp_path {dir}/a; proxy_temp_path {dir}/b; fastcgi_temp_path {dir}/c; uwsgi_temp_path {dir}/d;
  scgi_temp_path {dir}/e;
  ssl_certificate {dir}/server.pem; ssl_certificate_key {dir}/server.key;
  proxy_http_version 1.1; proxy_set_header Connection ""; keepalive_timeout 60; keepalive_requests 100000;
  upstream engine {{ server 127.0.0.1:{engine}; keepalive 64; }}
  server {{ listen 127.0.0.1:{tls} ssl http2;
    location / {{ proxy_pass http://engine; proxy_buffering off; }} }}
  server {{ listen 127.0.0.1:{few} ssl http2; http2_max_concurrent_streams 8; keepalive_requests 40;
    location / {{ proxy_pass http://engine; proxy_buffering off; }} }}
  server {{ listen 127.0.0.1:{h2c} http2;
    location / {{ proxy_pass http://engine; proxy_buffering off; }} }}
  server {{ listen 127.0.0.1:{direct};
    location / {{ proxy_pass http://engine; proxy_buffering off; }} }}
  server {{ listen 127.0.0.1:{buffered};
    location / {{ proxy_pass http://engine; proxy_http_version 1.0; }} }}
  server {{ listen 127.0.0.1:{gzip}; gzip on; gzip_types text/event-stream application/json; gzip_min_length 1;
    location / {{ proxy_pass http://engine; proxy_buffering off; }} }}
  server {{ listen 127.0.0.1:{closing}; keepalive_requests 7;
    location / {{ proxy_pass http://engine; proxy_buffering off; }} }}
}}
"""


def free_ports(n):
    socks = [socket.socket() for _ in range(n)]
    for s in socks:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in socks]
    for s in socks:
        s.close()
    return ports


def certificates(where):
    def run(*args):
        subprocess.run(["openssl", *args], check=True, capture_output=True)

    ca, key = os.path.join(where, "ca.pem"), os.path.join(where, "ca.key")
    run("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", ca, "-days", "2", "-subj", "/CN=test ca")
    csr, skey, cert = (os.path.join(where, "server." + e) for e in ("csr", "key", "pem"))
    run("req", "-newkey", "rsa:2048", "-nodes", "-keyout", skey, "-out", csr, "-subj", "/CN=localhost")
    ext = os.path.join(where, "ext")
    with open(ext, "w") as f:
        f.write("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
    run("x509", "-req", "-in", csr, "-CA", ca, "-CAkey", key, "-CAcreateserial", "-out", cert, "-days", "2", "-extfile", ext)
    return ca


class Proxy:
    """A forward proxy: CONNECT tunnels, and whole URLs for http. Counts what it saw."""

    def __init__(self, user=None):
        self.user, self.connects, self.plain, self.refused, self.heads = user, 0, 0, 0, []
        self.s = socket.socket()
        self.s.bind(("127.0.0.1", 0))
        self.s.listen(64)
        self.port = self.s.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                c, _ = self.s.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(c,), daemon=True).start()

    def head(self, c):
        data = b""
        while b"\r\n\r\n" not in data:
            more = c.recv(65536)
            if not more:
                return None, b""
            data += more
        head, rest = data.split(b"\r\n\r\n", 1)
        return head.decode("latin-1"), rest

    def serve(self, c):
        try:
            head, rest = self.head(c)
            if head is None:
                return
            self.heads.append(head)
            method, target, _ = head.split("\r\n")[0].split(" ")
            if self.user:
                want = "proxy-authorization: basic " + base64.b64encode(self.user.encode()).decode()
                if want.lower() not in head.lower():
                    self.refused += 1
                    c.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=x\r\n"
                              b"Content-Length: 0\r\nConnection: close\r\n\r\n")
                    return
            if method == "CONNECT":
                self.connects += 1
                host, port = target.rsplit(":", 1)
                up = socket.create_connection((host, int(port)))
                c.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                self.plain += 1
                host, _, path = target.split("//", 1)[1].partition("/")
                up = socket.create_connection((host.rsplit(":", 1)[0], int(host.rsplit(":", 1)[1])))
                lines = [x for x in head.split("\r\n")[1:] if not x.lower().startswith("proxy-")]
                up.sendall("\r\n".join([f"{method} /{path} HTTP/1.1", "Connection: close", *lines]).encode() + b"\r\n\r\n")
            up.sendall(rest)
            threading.Thread(target=self.pump, args=(c, up), daemon=True).start()
            self.pump(up, c)
        except OSError:
            pass
        finally:
            c.close()

    @staticmethod
    def pump(a, b):
        try:
            while data := a.recv(65536):
                b.sendall(data)
            b.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def close(self):
        try:
            self.s.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.s.close()


class Base(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="nginx_test.")
        self.addCleanup(shutil.rmtree, self.dir)
        self.file = os.path.join(self.dir, "x.jmr")

    def bench(self, url, *args, env=None, short=SHORT):
        clean = {k: v for k, v in os.environ.items() if k not in PROXIES}
        return subprocess.run([JOULEMARK, "bench", url, "-o", self.file, *short, *NOTHING, *args], capture_output=True,
                              text=True, stdin=subprocess.DEVNULL, timeout=180, env=dict(clean, **(env or {})))

    def facts(self):
        with sqlite3.connect(self.file) as db:
            return dict(db.execute("SELECT key, value FROM env"))

    def good(self, url, *args, **kw):
        """A run whose requests all went well, and its facts."""
        r = self.bench(url, *args, **kw)
        self.assertEqual(r.returncode, 3, r.stderr)  # no meter here
        doc = json.loads(r.stdout)
        self.assertGreater(doc["requests"]["ok"], 0)
        self.assertEqual(doc["requests"]["by_error"], {})
        f = self.facts()
        self.assertEqual(f["load.osl.kept"].split()[0], f["load.osl.kept"].split()[2], "every token came")
        return doc, f

    def refused(self, part, url, *args, **kw):
        r = self.bench(url, *args, **kw)
        self.assertIn(r.returncode, (2, 4), r.stderr)
        last = r.stderr.rstrip("\n").split("\n")[-1]
        self.assertIn(part, last)
        self.assertFalse(os.path.exists(self.file))
        return last


class Engine(Base):
    @classmethod
    def setUpClass(cls):
        cls.engine = subprocess.Popen([JOULEMARK, "sim", "engine", "--speed", "4"], stdout=subprocess.PIPE, text=True)
        cls.url = json.loads(cls.engine.stdout.readline())["url"]
        cls.engine_port = int(cls.url.rsplit(":", 1)[1])

    @classmethod
    def tearDownClass(cls):
        cls.engine.terminate()
        cls.engine.communicate()


@unittest.skipUnless(NGINX and shutil.which("openssl"), "no nginx, or no openssl command")
class Nginx(Engine):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.home = tempfile.mkdtemp(prefix="nginx_test.")
        cls.ca = certificates(cls.home)
        names = ("tls", "few", "h2c", "direct", "buffered", "gzip", "closing")
        cls.port = dict(zip(names, free_ports(len(names))))
        conf = os.path.join(cls.home, "nginx.conf")
        with open(conf, "w") as f:
            f.write(CONF.format(dir=cls.home, engine=cls.engine_port, **cls.port))
        os.chmod(cls.home, 0o755)
        cls.nginx = subprocess.Popen([NGINX, "-e", os.path.join(cls.home, "error.log"), "-p", cls.home, "-c", conf],
                                     stderr=subprocess.PIPE, text=True)
        for _ in range(1200):
            try:
                socket.create_connection(("127.0.0.1", cls.port["direct"])).close()
                break
            except OSError:
                time.sleep(0.05)

    @classmethod
    def tearDownClass(cls):
        cls.nginx.send_signal(signal.SIGTERM)
        cls.nginx.communicate()
        shutil.rmtree(cls.home)
        super().tearDownClass()

    def at(self, name):
        return f"http{'s' if name in ('tls', 'few') else ''}://127.0.0.1:{self.port[name]}"

    @unittest.skipUnless(CURL, "built without libcurl")
    def test_http2_over_tls(self):
        doc, f = self.good(self.at("tls"), "--transport", "curl", "--ca-file", self.ca)
        self.assertEqual((f["load.transport"], f["load.http"], f["load.proxy"]), ("curl", "2", "none"))
        self.assertEqual(f["load.tls.verified"], "yes")
        self.assertEqual(f["load.connections"], "1", "many streams share one connection")
        self.assertGreater(int(f["load.stamps.kernel"]), int(f["load.stamps.user"]))
        _, f = self.good(self.at("tls"), "--transport", "curl", "--insecure", "--force")
        self.assertEqual(f["load.tls.verified"], "no")

    @unittest.skipUnless(CURL, "built without libcurl")
    def test_versions(self):
        _, f = self.good(self.at("tls"), "--http", "1.1", "--ca-file", self.ca)
        self.assertEqual((f["load.transport"], f["load.http"], f["load.connections"]), ("curl", "1.1", "4"))
        _, f = self.good(self.at("h2c"), "--http", "2", "--force")
        self.assertEqual(f["load.http"], "2")
        if int(re.search(r"libcurl/(\d+)", f["load.curl"])[1]) >= 8:  # before, each request has its own
            self.assertEqual(f["load.connections"], "1")
        _, f = self.good(self.at("direct"), "--transport", "curl", "--force")
        self.assertEqual(f["load.http"], "1.1")
        os.unlink(self.file)
        self.refused("127.0.0.1", self.at("h2c"), "--transport", "curl")  # a server of HTTP/2 alone
        self.refused("give --http 2", self.at("h2c"))
        self.refused("127.0.0.1", self.at("direct"), "--http", "2")

    @unittest.skipUnless(CURL, "built without libcurl")
    def test_http2_with_few_streams_and_many_goodbyes(self):
        """More requests than streams, and GOAWAY after 40 of them: other connections are made, and nothing fails."""
        _, f = self.good(self.at("few"), "--transport", "curl", "--ca-file", self.ca, "-c", "24")
        self.assertEqual(f["load.http"], "2")
        self.assertGreater(int(f["load.connections"]), 2)

    @unittest.skipUnless(TLS, "built without OpenSSL")
    def test_own_sockets_over_tls(self):
        _, f = self.good(self.at("tls"), "--ca-file", self.ca)
        self.assertEqual((f["load.transport"], f["load.stamps"]), ("plain", "kernel"))

    def test_certificate_of_an_unknown_authority(self):
        for args in ([["--transport", "curl"]] if CURL else []) + ([[]] if TLS else []):
            with self.subTest(args):
                self.refused("--ca-file", self.at("tls"), *args)
                self.refused("/nonexistent", self.at("tls"), "--ca-file", "/nonexistent", *args)

    def test_buffering_shows(self):
        """nginx holds events back until a buffer is full: they come in lumps, which no latency of theirs survives."""
        for args in ([["--transport", "curl"]] if CURL else []) + [[]]:
            with self.subTest(args):
                def at_once():  # where the client has its turn when they come
                    _, f = self.good(self.at("direct"), "--force", *args)
                    self.assertLess(int(f["load.events.shared"]), int(f["load.events"]) / 4)
                patience.again(at_once)
                doc, f = self.good(self.at("buffered"), "--force", *args)
                self.assertGreater(int(f["load.events.shared"]), int(f["load.events"]) / 2)
                self.assertIn("stamps.shared", [x["id"] for x in doc["validity"]["findings"]])

    def test_engine_that_breaks_off_behind_the_proxy(self):
        """What the proxy makes of it: an end of the connection, a reset stream of HTTP/2, a page with 502."""
        ways = [("plain", "direct", "closed after")] + ([("curl", "tls", "HTTP/2 stream was not closed cleanly")] if CURL else [])
        for transport, name, words in ways:
            for fault, error, part in (("rst=5", "cut", words), ("cut=5", "cut", words), ("refuse", "http-5xx", "502 Bad Gateway")):
                for _ in range(5):  # in some try those which find out about the engine come through
                    r = self.bench(self.at(name), "--transport", transport, "--model", f"8b-h100+{fault},every=3", "--force",
                                   *(["--ca-file", self.ca] if name == "tls" else []))
                    if r.returncode != 4:
                        break
                self.assertEqual(r.returncode, 3, r.stderr)
                self.assertEqual(list(json.loads(r.stdout)["requests"]["by_error"]), [error], (transport, fault))
                with sqlite3.connect(self.file) as db:
                    said = [x[0] for x in db.execute("SELECT error FROM request WHERE error IS NOT NULL")]
                self.assertIn(part, said[0])

    @unittest.skipUnless(CURL, "built without libcurl")
    def test_gzip(self):
        _, f = self.good(self.at("gzip"), "--transport", "curl")
        self.assertEqual(f["load.compression"], "none", "it is not asked for unless wanted")
        _, f = self.good(self.at("gzip"), "--compressed", "--force")
        self.assertRegex(f["load.compression"], r"^gzip, \d+ answers$")

    def test_server_that_closes_kept_connections(self):
        for args in ([["--transport", "curl"]] if CURL else []) + [[]]:
            with self.subTest(args):
                self.good(self.at("closing"), "--force", *args)


@unittest.skipUnless(CURL, "built without libcurl")
class ForwardProxy(Engine):
    def proxy(self, user=None):
        p = Proxy(user)
        self.addCleanup(p.close)
        return p

    def test_through_a_proxy(self):
        p = self.proxy()
        _, f = self.good(self.url, "--proxy", f"http://127.0.0.1:{p.port}")
        self.assertEqual((f["load.transport"], f["load.proxy"]), ("curl", f"127.0.0.1:{p.port}"))
        self.assertGreater(p.plain, 0)
        self.assertEqual(f["endpoint.local"], "1", "proxy and engine are both on this machine")
        self.assertIn("endpoint.pid", f)

    def test_through_socks(self):
        """RFC 1928: the name of the endpoint is resolved by the proxy with socks5h."""
        p = Socks()
        self.addCleanup(p.close)
        for scheme in ("socks5", "socks5h"):
            before = p.connects
            _, f = self.good(self.url.replace("127.0.0.1", "localhost"), "--proxy", f"{scheme}://127.0.0.1:{p.port}", "--force")
            self.assertEqual(f["load.proxy"], f"127.0.0.1:{p.port}")
            self.assertGreater(p.connects, before)

    def test_user_and_password(self):
        p = self.proxy("us:s3cret-word")
        self.refused("407", self.url, "--proxy", f"http://127.0.0.1:{p.port}")
        self.assertGreater(p.refused, 0)
        _, f = self.good(self.url, "--proxy", f"http://us:s3cret-word@127.0.0.1:{p.port}")
        self.assertEqual(f["load.proxy"], f"127.0.0.1:{p.port}")
        with open(self.file, "rb") as file:
            data = file.read()
        self.assertNotIn(b"s3cret-word", data, "the password is never stored")
        self.assertNotIn(base64.b64encode(b"us:s3cret-word"), data)

    def test_no_proxy_there(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        last = self.refused("the proxy", self.url, "--proxy", f"http://us:s3cret-word@127.0.0.1:{port}")
        self.assertIn("refused", last)
        self.assertNotIn("s3cret", last)

    def test_what_is_no_proxy(self):
        for bad in ("127.0.0.1:3128", "ftp://x", "http://", "http://a b:1", "x", ""):
            with self.subTest(bad):
                self.refused("proxy", self.url, "--proxy", bad)
        self.refused("transport curl", self.url, "--transport", "plain", "--proxy", "http://127.0.0.1:1")

    def test_a_proxy_of_the_environment_is_not_used(self):
        p = self.proxy()
        env = {"http_proxy": f"http://127.0.0.1:{p.port}"}
        for args in (["--transport", "plain"], ["--transport", "curl"]):
            r = self.bench(self.url, "--force", *args, env=env, short=[a for a in SHORT if a != "-q"])
            self.assertEqual(r.returncode, 3, r.stderr)
            self.assertEqual(r.stderr.count("http_proxy is set, but not used"), 1, r.stderr)
            r = self.bench(self.url, "--force", *args, env=dict(env, no_proxy="localhost,127.0.0.1"))
            self.assertNotIn("http_proxy", r.stderr)
        self.assertEqual((p.plain, p.connects), (0, 0))

    @unittest.skipUnless(shutil.which("openssl"), "no openssl command")
    def test_tunnel(self):
        """https through CONNECT: the proxy sees neither the API key nor the request."""
        ca = certificates(self.dir)
        ctx = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        ctx.load_cert_chain(os.path.join(self.dir, "server.pem"), os.path.join(self.dir, "server.key"))
        front = Front(ctx, self.engine_port)
        self.addCleanup(front.close)
        p = self.proxy()
        self.good(f"https://127.0.0.1:{front.port}", "--ca-file", ca, "--proxy", f"http://127.0.0.1:{p.port}", "--api-key-env",
                  "JM_TEST_KEY", env={"JM_TEST_KEY": "sk-secret-key"})
        self.assertGreater(p.connects, 0)
        self.assertNotIn("sk-secret-key", "".join(p.heads))
        self.assertNotIn("/v1/", "".join(p.heads))


class Socks(Proxy):
    """RFC 1928, without authentication."""

    def serve(self, c):
        def take(n):
            data = b""
            while len(data) < n:
                more = c.recv(n - len(data))
                if not more:
                    raise OSError("closed")
                data += more
            return data

        try:
            take(take(2)[1])
            c.sendall(b"\x05\x00")
            kind = take(4)[3]
            host = socket.inet_ntoa(take(4)) if kind == 1 else take(take(1)[0]).decode() if kind == 3 else "::1"
            if kind == 4:
                take(16)
            up = socket.create_connection((host if host != "::1" else "127.0.0.1", int.from_bytes(take(2), "big")))
            c.sendall(b"\x05\x00\x00\x01" + bytes(6))
            self.connects += 1
            threading.Thread(target=self.pump, args=(c, up), daemon=True).start()
            self.pump(up, c)
        except OSError:
            pass
        finally:
            c.close()


class Front(Proxy):
    """TLS before a plain port."""

    def __init__(self, ctx, port):
        self.ctx, self.behind = ctx, port
        super().__init__()

    def serve(self, c):
        try:
            c = self.ctx.wrap_socket(c, server_side=True)
            up = socket.create_connection(("127.0.0.1", self.behind))
            threading.Thread(target=self.pump, args=(c, up), daemon=True).start()
            self.pump(up, c)
        except OSError:
            pass
        finally:
            c.close()


tap.main()

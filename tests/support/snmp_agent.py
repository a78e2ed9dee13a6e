# SPDX-License-Identifier: Apache-2.0
"""A small SNMP agent (versions 2c and 3 with authentication) by the standard library: what an independent hand reads
out of RFC 3416, 3412 and 3414.

objects: {"1.3.6.1.2.1.1.3.0": ("ticks", 4711)}; kinds: int, gauge, counter, counter64, ticks, octets, oid. A value may be
a function without arguments. `too_big`: an answer with more objects than that is refused as tooBig."""
import hashlib
import hmac
import socket
import threading

TAGS = {"int": 0x02, "octets": 0x04, "oid": 0x06, "counter": 0x41, "gauge": 0x42, "ticks": 0x43, "counter64": 0x46}
ENGINE = bytes.fromhex("80001f8880e9630000d61ff449")


def tlv(tag, body):
    n = len(body)
    size = bytes([n]) if n < 128 else bytes([0x81, n]) if n < 256 else bytes([0x82, n >> 8, n & 255])
    return bytes([tag]) + size + body


def integer(v, tag=0x02):
    n = max(1, (v.bit_length() + 8) // 8)
    return tlv(tag, v.to_bytes(n, "big", signed=True))


def oid(ids):
    out = bytes([40 * ids[0] + ids[1]])
    for v in ids[2:]:
        part = [v & 127]
        while v > 127:
            v >>= 7
            part.insert(0, v & 127 | 128)
        out += bytes(part)
    return tlv(0x06, out)


def take(b, at=0):
    tag, n, at = b[at], b[at + 1], at + 2
    if n & 128:
        k = n & 127
        n, at = int.from_bytes(b[at:at + k], "big"), at + k
    return tag, b[at:at + n], at + n


def children(b):
    at, out = 0, []
    while at < len(b):
        tag, body, at = take(b, at)
        out.append((tag, body))
    return out


def ids_of(body):
    out, v = [body[0] // 40, body[0] % 40], 0
    for x in body[1:]:
        v = v << 7 | x & 127
        if not x & 128:
            out.append(v)
            v = 0
    return tuple(out)


def num(body):
    return int.from_bytes(body, "big", signed=True)


class Agent:
    def __init__(self, objects, community=b"public", user=None, password=None, hash_name="sha1", too_big=None):
        self.objects = {tuple(map(int, k.split("."))): v for k, v in objects.items()}
        self.community, self.user, self.too_big, self.hash = community, user, too_big, hash_name
        self.drop = 0  # so many requests are not answered
        self.requests = self.answers = 0
        if password:
            text = (password * (2**20 // len(password) + 1))[:2**20]
            key = hashlib.new(hash_name, text.encode()).digest()
            self.key = hashlib.new(hash_name, key + ENGINE + key).digest()
        self.mac_size = {"sha1": 12, "sha256": 24}[hash_name]
        self.boots, self.time = 7, 1000
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.socket.getsockname()[1]
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def set(self, name, value):
        self.objects[tuple(map(int, name.split(".")))] = value

    def _serve(self):
        while True:
            try:
                b, peer = self.socket.recvfrom(65536)
                if not b:
                    return
            except OSError:
                return
            self.requests += 1
            if self.drop > 0:
                self.drop -= 1
                continue
            try:
                answer = self._answer(b)
            except (IndexError, ValueError):
                continue
            if answer:
                self.answers += 1
                try:
                    self.socket.sendto(answer, peer)
                except OSError:  # nobody waits any more
                    return

    def _answer(self, b):
        _, body, _ = take(b)
        parts = children(body)
        if num(parts[0][1]) == 1:
            if self.user or parts[1][1] != self.community:
                return None
            return tlv(0x30, integer(1) + tlv(4, self.community) + self._pdu(*parts[2]))
        return self._v3(b, parts) if self.user else None

    def _v3(self, b, parts):
        head = children(parts[1][1])
        message, flags = num(head[0][1]), head[2][1][0]
        engine, boots, time, user, mac, _ = [x[1] for x in children(take(parts[2][1])[1])]
        pdu = children(parts[3][1])[2] if not flags & 2 else None

        def report(n):
            error = tlv(0x30, tlv(0x30, oid((1, 3, 6, 1, 6, 3, 15, 1, 1, n, 0)) + integer(1, 0x41)))
            return self._pack(message, 0, b"", tlv(0xa8, integer(0) + integer(0) + integer(0) + error))
        if engine != ENGINE:
            return report(4)
        if user != self.user.encode():
            return report(3)
        if not flags & 1 or flags & 2:
            return report(1)
        at = b.index(mac)
        zero = b[:at] + bytes(len(mac)) + b[at + len(mac):]
        if hmac.new(self.key, zero, self.hash).digest()[:self.mac_size] != mac:
            return report(5)
        if num(boots) != self.boots or abs(num(time) - self.time) > 150:
            return self._pack(message, 1, user, tlv(0xa8, integer(0) + integer(0) + integer(0) + tlv(0x30, tlv(
                0x30, oid((1, 3, 6, 1, 6, 3, 15, 1, 1, 2, 0)) + integer(1, 0x41)))))
        return self._pack(message, 1, user, self._pdu(*pdu))

    def _pack(self, message, flags, user, pdu):
        mac = bytes(self.mac_size) if flags & 1 else b""
        for _ in range(2):
            sec = tlv(0x30, tlv(4, ENGINE) + integer(self.boots) + integer(self.time) + tlv(4, user) + tlv(4, mac) + tlv(4, b""))
            out = tlv(0x30, integer(3) + tlv(0x30, integer(message) + integer(65507) + tlv(4, bytes([flags])) + integer(3)) +
                      tlv(4, sec) + tlv(0x30, tlv(4, ENGINE) + tlv(4, b"") + pdu))
            if not flags & 1:
                return out
            mac = hmac.new(self.key, out, self.hash).digest()[:self.mac_size]
        return out

    def _value(self, entry):
        kind, v = entry
        v = v() if callable(v) else v
        if kind == "octets":
            return tlv(4, v.encode() if isinstance(v, str) else v)
        if kind == "oid":
            return oid(tuple(map(int, v.split("."))))
        return integer(v, TAGS[kind])

    def _pdu(self, tag, body):
        request, first, second, binds = children(body)
        names = [ids_of(children(x)[0][1]) for _, x in children(binds[1])]
        out, error = [], 0
        if tag == 0xa0:
            for n in names:
                out.append(oid(n) + (self._value(self.objects[n]) if n in self.objects else tlv(0x81, b"")))
        elif tag == 0xa5:
            n = names[0]
            for _ in range(num(second[1])):
                later = sorted(k for k in self.objects if k > n)
                if not later:
                    out.append(oid(n) + tlv(0x82, b""))
                    break
                n = later[0]
                out.append(oid(n) + self._value(self.objects[n]))
        if self.too_big and len(out) > self.too_big:
            out, error = [], 1
        return tlv(0xa2, tlv(0x02, request[1]) + integer(error) + integer(0) + tlv(0x30, b"".join(tlv(0x30, x) for x in out)))

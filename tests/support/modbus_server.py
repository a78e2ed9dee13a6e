# SPDX-License-Identifier: Apache-2.0
"""A small Modbus server: TCP, or RTU on a pseudo-terminal. registers: {(function, address): 16-bit value}; a value may be a
function without arguments. What is not there is an illegal data address."""
import os
import pty
import socket
import struct
import threading
import tty


def words(fmt, *v):
    b = struct.pack(">" + fmt, *v)
    return list(struct.unpack(">%dH" % (len(b) // 2), b))


def place(function, address, values):
    return {(function, address + i): v for i, v in enumerate(values)}


def crc(b):
    c = 0xffff
    for x in b:
        c ^= x
        for _ in range(8):
            c = c >> 1 ^ 0xa001 if c & 1 else c >> 1
    return struct.pack("<H", c)


class Server:
    def __init__(self, registers, unit=1, rtu=False):
        self.registers, self.unit, self.rtu = registers, unit, rtu
        self.close_after = None
        self.requests = 0
        if rtu:
            self.master, self.slave = pty.openpty()
            tty.setraw(self.slave)
            self.address = os.ttyname(self.slave)
            threading.Thread(target=self._serial, daemon=True).start()
        else:
            self.listener = socket.create_server(("127.0.0.1", 0))
            self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
            threading.Thread(target=self._listen, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.rtu:
            os.close(self.slave)
            os.close(self.master)
        else:
            self.listener.close()

    def answer(self, unit, function, address, count):
        self.requests += 1
        out = b""
        for i in range(count):
            v = self.registers.get((function, address + i))
            if v is None:
                return bytes([unit, function | 0x80, 2])
            out += struct.pack(">H", v() if callable(v) else v)
        return bytes([unit, function, len(out)]) + out

    def _listen(self):
        while True:
            try:
                s, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._tcp, args=(s,), daemon=True).start()

    def _tcp(self, s):
        served = 0
        with s:
            while True:
                b = b""
                while len(b) < 12:
                    more = s.recv(12 - len(b))
                    if not more:
                        return
                    b += more
                transaction, _, _, unit, function, address, count = struct.unpack(">HHHBBHH", b)
                body = self.answer(unit, function, address, count)
                s.sendall(struct.pack(">HHH", transaction, 0, len(body)) + body)
                served += 1
                if self.close_after and served >= self.close_after:
                    return

    def _serial(self):
        b = b""
        while True:
            try:
                b += os.read(self.master, 256)
            except OSError:
                return
            while len(b) >= 8:
                frame, b = b[:8], b[8:]
                if crc(frame[:6]) != frame[6:] or frame[0] != self.unit:
                    continue
                unit, function, address, count = struct.unpack(">BBHH", frame[:6])
                body = self.answer(unit, function, address, count)
                os.write(self.master, body + crc(body))

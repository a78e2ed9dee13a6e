#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads a run file without joulemark: the formats of docs/run-file.md in a page. Frames of zstd are read by Python's
own module (3.14), else the zstd program, else unzstd.py beside this file, which needs nothing and is slow.

    decode_run.py RUN.jmr             channels with their first and last reading
    decode_run.py RUN.jmr CHANNEL     t0 t1 value status flags of every reading
    decode_run.py RUN.jmr events      request t tokens flags of every token event
    decode_run.py RUN.jmr requests    id and stamps of every request, None where there is none
"""
import os
import shutil
import sqlite3
import struct
import subprocess
import sys


def unpacker():
    try:
        from compression import zstd
        return zstd.decompress
    except ImportError:
        pass
    if shutil.which("zstd") and not os.environ.get("UNZSTD"):
        return lambda data: subprocess.run(["zstd", "-dcq"], input=data, stdout=subprocess.PIPE, check=True).stdout
    import unzstd
    return unzstd.decompress


def plain(enc, data, unpack=[]):
    if enc == 1:
        return data
    if not unpack:
        unpack.append(unpacker())
    return unpack[0](data)


def signed(v):  # 64-bit arithmetic wraps
    return (v + (1 << 63)) % (1 << 64) - (1 << 63)


class Bytes:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, n):
        self.at += n
        return self.data[self.at - n:self.at]

    def varint(self):  # base 128, low group first
        v = shift = 0
        while True:
            b = self.take(1)[0]
            v |= (b & 127) << shift
            shift += 7
            if b < 128:
                return v

    def zigzag(self):
        z = self.varint()
        return (z >> 1) ^ -(z & 1)

    def column(self, n):  # a base, then n distances from it
        base = self.zigzag() if n else 0
        return [base + self.zigzag() for _ in range(n)]

    def runs(self, n):  # (length, value) until n are there
        out = []
        while len(out) < n:
            length, value = self.varint(), self.varint()
            out += [value] * length
        return out


def summed(first, deltas):
    out = [first]
    for d in deltas:
        out.append(signed(out[-1] + d))
    return out


def times(db, b, n, other):  # takes the times off the front
    layout = b.take(1)[0]
    if layout != 1:
        enc, data, next_one = db.execute("SELECT enc,data,times FROM chunk WHERE id=?", (other,)).fetchone()
        o = Bytes(plain(enc, data))
        o0, o1 = times(db, o, o.varint(), next_one)
        if layout == 0:
            return o0, o1
        t0 = [signed(t + d) for t, d in zip(o1, b.column(n))]
    else:
        t0 = summed(b.zigzag(), b.column(n - 1))
    return t0, [signed(t + d) for t, d in zip(t0, b.column(n))]


def chunk(db, enc, data, other):
    b = Bytes(plain(enc, data))
    n = b.varint()
    t0, t1 = times(db, b, n, other)
    mode = b.take(1)[0]
    if mode == 0:  # integers
        values = summed(b.zigzag(), b.column(n - 1))
    elif mode == 1:  # doubles, little-endian
        values = list(struct.unpack(f"<{n}d", b.take(8 * n)))
    else:  # doubles: bytes of a xor with the one before, swapped
        values, last = [], 0
        for _ in range(n):
            last ^= int.from_bytes(b.varint().to_bytes(8, "little"), "big")
            values.append(struct.unpack("<d", last.to_bytes(8, "little"))[0])
    return list(zip(t0, t1, values, b.runs(n), b.runs(n)))


def readings(db, channel):
    for row in db.execute("SELECT enc,data,times FROM chunk WHERE channel=? ORDER BY t_first,id", (channel,)):
        yield from chunk(db, *row)


def events(db):
    for enc, data in db.execute("SELECT enc,data FROM token_chunk ORDER BY id"):
        b = Bytes(plain(enc, data))
        n = b.varint()
        ids = summed(0, [b.zigzag() for _ in range(n)])[1:]
        counts = [b.varint() for _ in range(n)]
        first = summed(0, [b.zigzag() for _ in range(n)])[1:]
        bases = [b.zigzag() if c > 1 else 0 for c in counts]
        low = b.take(sum(counts) - n)
        stamps, k = [], 0
        for t, base, count in zip(first, bases, counts):
            stamps.append(t)
            for _ in range(count - 1):
                z = b.varint() << 8 | low[k]
                k += 1
                t += base + ((z >> 1) ^ -(z & 1))
                stamps.append(t)
        request = [i for i, c in zip(ids, counts) for _ in range(c)]
        yield from zip(request, (1000 * t for t in stamps), b.runs(len(stamps)), b.runs(len(stamps)))


def requests(db):
    scheduled = dict(db.execute("SELECT id,scheduled FROM request"))
    for enc, data in db.execute("SELECT enc,data FROM request_chunk ORDER BY id"):
        b = Bytes(plain(enc, data))
        n = b.varint()
        ids = summed(0, [b.zigzag() for _ in range(n)])[1:]
        stamps = [[scheduled[i]] for i in ids]
        last = [-1 if s[0] is None else s[0] for s in stamps]
        for _ in range(12):
            base = b.zigzag()
            for k in range(n):
                z = b.varint()
                if z:
                    last[k] = signed(last[k] + base + ((z - 1 >> 1) ^ -(z - 1 & 1)))
                stamps[k].append(last[k] if z else None)
        for _ in range(9):
            b.runs(n)
        for _ in range(3 * n):
            b.varint()
        done = 0
        while done < n:  # finish: the value is a length
            done += b.varint()
            b.take(b.varint())
        b.runs(n), b.runs(n)  # quality, hashes
        more = [[None] * n, [None] * n]
        while b.at < len(b.data):
            tag, end = b.varint(), b.varint()
            end += b.at
            if tag == 1:  # stamps that came later: each counts from one that is near it
                for column, near in zip(more[:b.varint()], (6, 9)):
                    base = b.zigzag()
                    for k in range(n):
                        z, at = b.varint(), stamps[k][near]
                        at = stamps[k][0] if at is None else at
                        if z:
                            column[k] = signed((-1 if at is None else at) + base + ((z - 1 >> 1) ^ -(z - 1 & 1)))
            b.at = end
        yield from zip(ids, *zip(*stamps), *more)


def main(path, what=None):
    db = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    if what is None:
        for channel, name, device in db.execute("SELECT id,name,device FROM channel ORDER BY id"):
            all_of = list(readings(db, channel))
            print(channel, name, device, len(all_of), *(all_of[0][:3] + all_of[-1][:3] if all_of else ()))
    else:
        for row in events(db) if what == "events" else requests(db) if what == "requests" else readings(db, int(what)):
            print(*row)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    try:
        main(*sys.argv[1:])
    except BrokenPipeError:
        pass

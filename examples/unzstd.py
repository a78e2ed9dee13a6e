#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Zstandard frames without a library (RFC 8878), for those who check a run file with nothing but Python. Slow, and
it does not look at the frame's own checksum: who calls it has a SHA-256 of the whole.

    unzstd.py FILE.zst > FILE
"""
import sys

LL_BASE = list(range(16)) + [16, 18, 20, 22, 24, 28, 32, 40, 48, 64] + [1 << k for k in range(7, 17)]
LL_BITS = [0] * 16 + [1, 1, 1, 1, 2, 2, 3, 3, 4, 6] + list(range(7, 17))
ML_BASE = list(range(3, 35)) + [35, 37, 39, 41, 43, 47, 51, 59, 67, 83, 99] + [3 + (1 << k) for k in range(7, 17)]
ML_BITS = [0] * 32 + [1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5] + list(range(7, 17))
LL_USUAL = [4, 3] + [2] * 11 + [1, 1, 1] + [2] * 9 + [3, 2] + [1] * 5 + [-1] * 4
ML_USUAL = [1, 4, 3] + [2] * 6 + [1] * 37 + [-1] * 7
OF_USUAL = [1] * 6 + [2] * 3 + [1] * 15 + [-1] * 5


class Backward:  # bits from the end of a stream, below the highest one that is set
    def __init__(self, data):
        self.data, self.bit = data, 8 * len(data) - 9 + data[-1].bit_length()
        if not data[-1]:
            raise ValueError("a stream without its end mark")

    def read(self, n):  # zeros before the beginning
        lo, hi = self.bit - n, self.bit
        self.bit = lo
        if hi <= 0 or not n:
            return 0
        at = max(lo, 0)
        v = int.from_bytes(self.data[at >> 3:(hi + 7) >> 3], "little") >> (at & 7) & ((1 << (hi - at)) - 1)
        return v << (at - lo)


def fse_probabilities(data, most):  # and the bytes that they take
    bits, at = int.from_bytes(data[:600], "little"), 4
    log = (bits & 15) + 5
    if log > most:
        raise ValueError("a table larger than the format allows")
    left, probabilities = 1 << log, []
    while left > 0:
        n = (left + 1).bit_length()
        v = bits >> at & ((1 << n) - 1)
        low, threshold = (1 << n - 1) - 1, (1 << n) - 2 - left
        if v & low < threshold:
            v, n = v & low, n - 1
        elif v > low:
            v -= threshold
        at += n
        probabilities.append(v - 1)
        left -= abs(v - 1)
        while v == 1:
            more = bits >> at & 3
            at += 2
            probabilities += [0] * more
            if more < 3:
                break
    if left < 0 or len(probabilities) > 256:
        raise ValueError("probabilities that do not add up")
    return log, probabilities, at + 7 >> 3


def fse_table(log, probabilities):  # state: symbol, bits to read, base of the next state
    size = 1 << log
    symbols, high, at, following = [0] * size, size, 0, {}
    for s, p in enumerate(probabilities):
        if p:
            following[s] = abs(p)
        if p < 0:
            high -= 1
            symbols[high] = s
    for s, p in enumerate(probabilities):
        for _ in range(max(p, 0)):
            symbols[at] = s
            at = at + (size >> 1) + (size >> 3) + 3 & size - 1
            while at >= high:
                at = at + (size >> 1) + (size >> 3) + 3 & size - 1
    table = []
    for s in symbols:
        n = following[s]
        following[s] += 1
        bits = log - n.bit_length() + 1
        table.append((s, bits, (n << bits) - size))
    return log, table


def huffman(data):  # a table of (symbol, bits) by the next bits, its width, and the bytes that the header takes
    head, weights = data[0], []
    if head >= 128:
        used = 1 + (head - 126 >> 1)
        for k in range(head - 127):
            weights.append(data[1 + (k >> 1)] >> (0 if k & 1 else 4) & 15)
    else:
        used = 1 + head
        log, probabilities, n = fse_probabilities(data[1:used], 6)
        table, b = fse_table(log, probabilities)[1], Backward(data[1 + n:used])
        states, turn = [b.read(log), b.read(log)], 0
        while len(weights) < 256:
            s, bits, base = table[states[turn]]
            weights.append(s)
            states[turn] = base + b.read(bits)
            turn ^= 1
            if b.bit < 0:
                weights.append(table[states[turn]][0])
                break
    total = sum(1 << w >> 1 for w in weights)
    width = total.bit_length()
    weights.append(((1 << width) - total).bit_length())
    table = []
    for w in range(1, width + 1):
        for s, x in enumerate(weights):
            if x == w:
                table += [(s, width + 1 - w)] * (1 << w - 1)
    if len(table) != 1 << width:
        raise ValueError("weights that do not add up")
    return table, width, used


def huffman_stream(data, tree):
    table, width, _ = tree
    b, out, mask = Backward(data), bytearray(), (1 << width) - 1
    state = b.read(width)
    while b.bit > -width:
        s, n = table[state]
        out.append(s)
        state = (state << n | b.read(n)) & mask
    return out


class Frame:
    def __init__(self):
        self.out, self.tree, self.tables, self.recent = bytearray(), None, [None] * 3, [1, 4, 8]

    def literals(self, data):  # and the bytes that they take
        kind, form = data[0] & 3, data[0] >> 2 & 3
        if kind < 2:
            head = (1, 2, 1, 3)[form]
            size = int.from_bytes(data[:head], "little") >> (3 if head == 1 else 4)
            if kind:
                return bytes(data[head:head + 1]) * size, head + 1
            return data[head:head + size], head + size
        head, bits = ((3, 10), (3, 10), (4, 14), (5, 18))[form]
        v = int.from_bytes(data[:head], "little") >> 4
        size, packed = v & ((1 << bits) - 1), v >> bits
        body, start = data[head:head + packed], 0
        if kind == 2:
            self.tree = huffman(body)
            start = self.tree[2]
        if form == 0:
            return huffman_stream(body[start:], self.tree), head + packed
        ends, at, out = [int.from_bytes(body[start + k:start + k + 2], "little") for k in (0, 2, 4)], start + 6, bytearray()
        for n in ends + [len(body)]:
            out += huffman_stream(body[at:at + n], self.tree)
            at += n
        if len(out) != size:
            raise ValueError("literals of another length")
        return out, head + packed

    def table(self, which, mode, data, usual):  # and the bytes that it takes
        used = 0
        if mode == 0:
            self.tables[which] = fse_table(*usual)
        elif mode == 1:
            self.tables[which], used = (0, [(data[0], 0, 0)]), 1
        elif mode == 2:
            log, probabilities, used = fse_probabilities(data, (9, 8, 9)[which])
            self.tables[which] = fse_table(log, probabilities)
        return used

    def offset(self, value, no_literals):
        r = self.recent
        if value > 3:
            self.recent = [value - 3, r[0], r[1]]
        else:
            k = value - 1 + no_literals
            if k:
                off = r[0] - 1 if k == 3 else r[k]
                self.recent = [off, r[0], r[2] if k == 1 else r[1]]
        return self.recent[0]

    def block(self, data):
        literals, at = self.literals(data)
        out, n, lit = self.out, data[at], 0
        at += 1
        if n == 255:
            n, at = int.from_bytes(data[at:at + 2], "little") + 0x7F00, at + 2
        elif n > 127:
            n, at = (n - 128 << 8) + data[at], at + 1
        if n:
            modes = data[at]
            at += 1
            for which, usual in enumerate(((6, LL_USUAL), (5, OF_USUAL), (6, ML_USUAL))):
                at += self.table(which, modes >> 6 - 2 * which & 3, data[at:], usual)
            b = Backward(data[at:])
            (l_log, l_table), (o_log, o_table), (m_log, m_table) = self.tables
            ll, of, ml = b.read(l_log), b.read(o_log), b.read(m_log)
            for k in range(n):
                l_code, m_code, o_code = l_table[ll], m_table[ml], o_table[of]
                value = (1 << o_code[0]) + b.read(o_code[0])
                length = ML_BASE[m_code[0]] + b.read(ML_BITS[m_code[0]])
                plain = LL_BASE[l_code[0]] + b.read(LL_BITS[l_code[0]])
                if k + 1 < n:
                    ll = l_code[2] + b.read(l_code[1])
                    ml = m_code[2] + b.read(m_code[1])
                    of = o_code[2] + b.read(o_code[1])
                out += literals[lit:lit + plain]
                lit += plain
                start = len(out) - self.offset(value, plain == 0)
                if start < 0 or start >= len(out):
                    raise ValueError("a match from before the beginning")
                piece = out[start:start + length]
                while len(piece) < length:
                    piece += piece[:length - len(piece)]
                out += piece
            if b.bit:
                raise ValueError("a block that does not end where it should")
        out += literals[lit:]


def decompress(data):
    if data[:4] != b"\x28\xb5\x2f\xfd":
        raise ValueError("no Zstandard frame")
    flags = data[4]
    single, at = flags >> 5 & 1, 5 + (not flags >> 5 & 1) + (0, 1, 2, 4)[flags & 3]
    width = (single, 2, 4, 8)[flags >> 6]
    size = int.from_bytes(data[at:at + width], "little") + (256 if width == 2 else 0) if width else None
    frame, at, last = Frame(), at + width, 0
    while not last:
        head = int.from_bytes(data[at:at + 3], "little")
        last, kind, n, at = head & 1, head >> 1 & 3, head >> 3, at + 3
        if kind == 1:
            frame.out += data[at:at + 1] * n
            n = 1
        elif kind == 0:
            frame.out += data[at:at + n]
        elif kind == 2:
            frame.block(data[at:at + n])
        else:
            raise ValueError("a block of no known kind")
        at += n
        if at > len(data):
            raise ValueError("a frame that was cut")
    if size is not None and size != len(frame.out):
        raise ValueError("a frame of another length than it says")
    return bytes(frame.out)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(sys.argv[1], "rb") as f:
        sys.stdout.buffer.write(decompress(f.read()))

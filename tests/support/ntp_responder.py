# SPDX-License-Identifier: Apache-2.0
"""An SNTP server for tests, on loopback: it tells this machine's time, plus an offset."""
import socket
import struct
import threading
import time

EPOCH = 2208988800  # 1900 to 1970, s


def _stamp(t):
    s = t + EPOCH
    return struct.pack("!II", int(s) & 0xffffffff, int((s % 1) * 2**32) & 0xffffffff)


class Responder:
    """offset: seconds that it is ahead; silent: never answers; stratum 0 is a kiss of death."""

    def __init__(self, offset=0.0, silent=False, stratum=1):
        self.offset, self.silent, self.stratum = offset, silent, stratum
        self.asked = 0
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.socket.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                packet, peer = self.socket.recvfrom(512)
            except OSError:
                return
            came = time.time() + self.offset
            self.asked += 1
            if self.silent or len(packet) < 48:
                continue
            version = packet[0] >> 3 & 7
            head = struct.pack("!BBbbII4s", version << 3 | 4, self.stratum, 6, -20, 0, 0, b"LOCL")
            self.socket.sendto(head + _stamp(came - 1) + packet[40:48] + _stamp(came) + _stamp(time.time() + self.offset), peer)

    def close(self):
        self.socket.close()

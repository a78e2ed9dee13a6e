# SPDX-License-Identifier: Apache-2.0
"""A Director by script: the client/server protocol of MLPerf power measurements (version 3), that can do wrong at any command.

trouble: {"<what a command begins with>": action}; "#2" after it means its second time. Actions:
  "close"      closes the connection instead of a reply
  "reset"      the same with a reset
  "stall"      never replies
  "endless"    sends bytes without a line end
  bytes        sent as they are, instead of the reply
A download's action may be bytes too: what follows instead of length and content."""
import os
import socket
import struct
import threading
import time

FILES = ["power/ptd_logs.txt", "ranging/spl.txt", "power/server.json", "power/server.log", "run_1/spl.txt", "run_1/ptd_out.txt"]
UUID = "0b65afba-71db-488c-adae-d14390fa5647"


class Server:
    def __init__(self, trouble=None, files=None, session="2026-01-30_10-00-00", clock=0.0, connections=4, absent=()):
        self.trouble, self.session, self.clock = dict(trouble or {}), session, clock
        self.files = files or {name: (name * 100).encode() for name in FILES}
        self.absent = absent
        self.seen, self.gone = [], []
        self.busy = threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.connections = connections
        self.open = []
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def close(self):
        for s in [self.listener] + self.open:
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self.thread.join(5)
        self.listener.close()

    def _serve(self):
        for _ in range(self.connections):
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.open.append(connection)
            try:
                self._talk(connection)
            except OSError:
                pass
            self.gone.append(time.monotonic())
            connection.close()

    def _action(self, line):
        self.seen.append(line)
        for key, action in self.trouble.items():
            text, _, nth = key.partition("#")
            if line.startswith(text) and sum(s.startswith(text) for s in self.seen) == int(nth or 1):
                return action
        return None

    def _talk(self, connection):
        rest = b""
        while True:
            while b"\n" not in rest:
                data = connection.recv(65536)
                if not data:
                    return
                rest += data
            raw, rest = rest.split(b"\n", 1)
            assert raw.endswith(b"\r"), raw
            line = raw[:-1].decode()
            action = self._action(line)
            if action == "close":
                return
            if action == "reset":
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                return
            if action == "stall":
                self.busy.set()
                connection.recv(1)
                return
            if action == "endless":
                while True:
                    connection.sendall(b"x" * 4096)
            if action is not None:
                connection.sendall(action)
                continue
            connection.sendall(self._reply(line))

    def _reply(self, line):
        word = line.split(",")
        if line == "mlcommons/power client v3":
            return b"mlcommons/power server v3\r\n"
        if line == "time":
            return repr(time.time() + self.clock).encode() + b"\r\n"
        if line in ("stop", "set_ntp"):
            return b"OK\r\n"
        if word[0] == "new" and len(word) == 3:
            name = self.session + ("_" + word[1] if word[1] else "")
            self.current = name
            return f"OK {name},{UUID}\r\n".encode()
        if word[0] == "session" and word[1] == self.current and word[2] in ("start", "stop", "done"):
            return b"OK\r\n"
        if word[0] == "download" and word[1] == self.current and word[2] in FILES:
            if word[2] in self.absent:
                return b"Error: exception\r\n"
            data = self.files[word[2]]
            out = b""
            for i in range(0, len(data), 1 << 20):
                part = data[i:i + (1 << 20)]
                out += b"%d\r\n" % len(part) + part
            return out + b"0\r\n"
        if word[0] == "cleanup" and word[1] == self.current:
            return b"OK\r\n"
        return b"Error\r\n"


LOGS = r"""
now() { date -u '+%m-%d-%Y %H:%M:%S.%3N'; }
line() { printf ':::MLLOG {"key": "%s", "value": "%s", "time_ms": 1.0, "metadata": {"is_error": false}}\n' "$1" "$2"; }
mkdir -p "$1"
sleep 0.02; b=$(now); sleep "${2:-0.03}"; e=$(now); sleep 0.02
{ line power_begin "$b"; line power_end "$e"; line result_validity VALID; } > "$1/mlperf_log_detail.txt"
echo 'Result is : VALID' > "$1/mlperf_log_summary.txt"
"""


def workload(folder):
    """A shell script in folder that writes LoadGen's logs: sh FOLDER/workload.sh INDIR [SECONDS]."""
    path = os.path.join(folder, "workload.sh")
    with open(path, "w", encoding="ascii") as f:
        f.write(LOGS)
    return path

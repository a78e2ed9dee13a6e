#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""llama.cpp's own server, from the prebuilt wheel xllamacpp, on a model made by make_gguf.py.

llama_server.py FOLDER [PARALLEL]: makes FOLDER/venv and FOLDER/model.gguf where they are not there yet, prints the server's URL as
its first line, serves until its standard input ends. Exit 77, with a reason, where the wheel cannot be had.
"""
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
MODULE, PACKAGE = "xllamacpp", "xllamacpp==2026.10.11549"


def skip(why):
    print("skipped:", why, flush=True)
    sys.exit(77)


def environment(folder):
    python = os.path.join(folder, "venv", "bin", "python")
    if subprocess.run([python, "-c", f"import {MODULE}"], capture_output=True).returncode == 0 if os.path.exists(python) else False:
        return python
    made = subprocess.run([sys.executable, "-m", "venv", os.path.join(folder, "venv")], capture_output=True, text=True)
    if made.returncode:
        skip("no virtual environment can be made: " + (made.stdout + made.stderr).strip().splitlines()[-1])
    try:
        got = subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:", PACKAGE],
                             capture_output=True, text=True, timeout=240)
    except subprocess.TimeoutExpired:
        skip(f"{PACKAGE} did not come within 240 s")
    if got.returncode:
        skip(f"{PACKAGE} cannot be installed: " + (got.stderr.strip().splitlines() or ["no reason given"])[-1])
    return python


def serve(model, parallel):
    import xllamacpp

    quiet = os.dup(1)  # the library writes to standard output
    os.dup2(2, 1)
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.n_ctx = 4096 * parallel
    params.n_parallel = parallel
    params.n_predict = -1
    params.warmup = False
    params.endpoint_metrics = True
    params.cpuparams.n_threads = 1
    params.port = 0
    server = xllamacpp.Server(params)
    os.write(quiet, (server.listening_address + "\n").encode())
    sys.stdin.read()
    os._exit(0)


def main():
    folder, parallel = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 4
    if len(sys.argv) > 3:
        return serve(sys.argv[3], parallel)
    os.makedirs(folder, exist_ok=True)
    python = environment(folder)
    model = os.path.join(folder, "model.gguf")
    if not os.path.exists(model):
        sys.path.insert(0, HERE)
        import make_gguf

        make_gguf.write(model + ".part")
        os.rename(model + ".part", model)
    os.execv(python, [python, os.path.abspath(__file__), folder, str(parallel), model])


if __name__ == "__main__":
    main()

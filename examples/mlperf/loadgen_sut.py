# SPDX-License-Identifier: Apache-2.0
"""A small system under test for MLPerf LoadGen: an OpenAI-compatible endpoint is asked for each sample, with LoadGen's own settings
for the benchmark (its built-in mlperf.conf and a user.conf). Performance mode only, made-up prompts: for trials of the measurement,
no implementation of a benchmark. Needs LoadGen: pip install mlcommons-loadgen"""
import argparse
import array
import http.client
import json
import os
import queue
import threading
import urllib.parse

import mlperf_loadgen as lg


class Endpoint:
    """One connection that is kept. Completions are streamed where somebody wants to know when the first token came."""

    def __init__(self, url, model, tokens):
        self.at = urllib.parse.urlsplit(url)
        self.model, self.tokens = model, tokens
        self.connection = None

    def ask(self, prompt, on_first):
        if self.connection is None:
            self.connection = http.client.HTTPConnection(self.at.hostname, self.at.port, timeout=60)
        body = {"model": self.model, "prompt": prompt, "max_tokens": self.tokens, "min_tokens": self.tokens, "ignore_eos": True,
                "temperature": 0}
        if on_first:
            body.update(stream=True, stream_options={"include_usage": True})
        self.connection.request("POST", "/v1/completions", json.dumps(body), {"Content-Type": "application/json"})
        reply = self.connection.getresponse()
        if reply.status != 200:
            raise RuntimeError(f"the endpoint said {reply.status}: {reply.read(200)!r}")
        if not on_first:
            return json.loads(reply.read())["usage"]["completion_tokens"]
        said, tokens = False, 0
        for line in reply:
            if not line.startswith(b"data: ") or line.startswith(b"data: [DONE]"):
                continue
            event = json.loads(line[6:])
            if event.get("choices") and not said:
                said = True
                on_first()
            if event.get("usage"):
                tokens = event["usage"]["completion_tokens"]
        return tokens


class Sut:
    def __init__(self, url, model, tokens, workers, streams):
        self.work = queue.Queue()
        self.streams = streams
        self.failed = None
        self.threads = [threading.Thread(target=self.serve, args=(Endpoint(url, model, tokens),), daemon=True)
                        for _ in range(workers)]
        for thread in self.threads:
            thread.start()

    def issue(self, samples):
        for sample in samples:
            self.work.put((sample.id, sample.index))

    def serve(self, endpoint):
        data = array.array("B", b"\0\0\0\0")
        address = data.buffer_info()[0]
        while True:
            got = self.work.get()
            if got is None:
                return
            ident, index = got

            def first(ident=ident):
                lg.FirstTokenComplete([lg.QuerySampleResponse(ident, address, len(data), 1)])

            try:
                tokens = endpoint.ask(f"Sample {index}: tell me about energy.", first if self.streams else None)
            except Exception as e:  # a sample that fails must not hang LoadGen: it is answered, and the run is then a failure
                self.failed = self.failed or e
                tokens = 0
            lg.QuerySamplesComplete([lg.QuerySampleResponse(ident, address, len(data), tokens)])

    def close(self):
        for _ in self.threads:
            self.work.put(None)
        for thread in self.threads:
            thread.join()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", required=True)
    parser.add_argument("--model", required=True, help="its name at the endpoint")
    parser.add_argument("--benchmark", default="llama3_1-8b", help="LoadGen's name of the benchmark")
    parser.add_argument("--scenario", choices=["Offline", "Server"], required=True)
    parser.add_argument("--user-conf", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--samples", type=int, default=64, help="in the sample library")
    parser.add_argument("--workers", type=int, default=16)
    args = parser.parse_args()

    settings = lg.TestSettings()
    settings.FromConfig(args.user_conf, args.benchmark, args.scenario, 1)
    settings.scenario = getattr(lg.TestScenario, args.scenario)
    settings.mode = lg.TestMode.PerformanceOnly
    os.makedirs(args.out, exist_ok=True)
    log = lg.LogSettings()
    log.log_output.outdir = args.out
    log.enable_trace = False

    sut = Sut(args.url, args.model, args.tokens, args.workers, args.scenario == "Server")
    handle = lg.ConstructSUT(sut.issue, lambda: None)
    library = lg.ConstructQSL(args.samples, args.samples, lambda samples: None, lambda samples: None)
    lg.StartTestWithLogSettings(handle, library, settings, log)
    lg.DestroyQSL(library)
    lg.DestroySUT(handle)
    sut.close()
    if sut.failed:
        raise SystemExit(f"loadgen_sut: {sut.failed}")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prometheus' own Python client as a second opinion: what it writes, in both formats, we read as it reads it itself."""
import os
import subprocess
import unittest

import pypi
import tap

BUILD = os.environ.get("JM_BUILD", "build")
DUMP = os.path.join(BUILD, "tests", "wire", "prom_dump")

WRITE = r'''
import random, sys
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, Summary, Enum, generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as generate_open
from prometheus_client.parser import text_string_to_metric_families as read_text
from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_open

seed, kind = int(sys.argv[1]), sys.argv[2]
rnd = random.Random(seed)
reg = CollectorRegistry()
odd = ['', 'a', 'a"b', 'back\\slash', 'new\nline', '}', '{x="y"}', ',', ' = ', 'é漢', '\\n', 'tail\\', '#', '# EOF']
def labels():
    return {'model_name': rnd.choice(odd), 'engine': str(rnd.randrange(3))}
for i in range(12):
    name = rnd.choice(['vllm:', 'tgi_', 'x']) + 'm%d' % i
    what = rnd.randrange(6)
    if what == 0:
        c = Counter(name, 'help \\ with\nlines', ['model_name', 'engine'], registry=reg)
        for _ in range(4): c.labels(**labels()).inc(rnd.random() * 10 ** rnd.randrange(-3, 12), exemplar={'trace_id': 'x"y'} if kind == 'open' and rnd.random() < .5 else None)
    elif what == 1:
        g = Gauge(name, 'g', ['model_name', 'engine'], registry=reg)
        for _ in range(4): g.labels(**labels()).set(rnd.choice([0, -1.5, 1e-300, float('inf'), float('-inf'), float('nan'), 12345678901234567890.0]))
    elif what == 2:
        h = Histogram(name, 'h', ['model_name', 'engine'], registry=reg, buckets=[.001, .5, 1, 2.5, 1e6])
        for _ in range(30): h.labels(**labels()).observe(rnd.expovariate(.5))
    elif what == 3:
        s = Summary(name, 's', ['model_name', 'engine'], registry=reg)
        for _ in range(9): s.labels(**labels()).observe(rnd.random())
    elif what == 4:
        Info(name, 'i', registry=reg).info({'block_size': '16', 'dtype': rnd.choice(odd)})
    else:
        Enum('state%d' % i, 'e', states=['a', 'b'], registry=reg).state('b')
text = generate_latest(reg) if kind == 'text' else generate_open(reg)
sys.stdout.buffer.write(text)
sys.stdout.flush()
rows = []
for f in (read_text if kind == 'text' else read_open)(text.decode()):
    for s in f.samples:
        rows.append('\t'.join([s.name, '%.17g' % s.value, ','.join('%s=%s' % (k, v.encode().hex()) for k, v in sorted(s.labels.items())), str(int(s.exemplar is not None))]))
sys.stderr.write('\n'.join(rows))
'''


class Prom(unittest.TestCase):
    def test_against_the_client(self):
        python, why = pypi.prepare("prom", "prometheus_client==0.21.1", "prometheus_client")
        if not python:
            self.skipTest(why)
        for seed in range(6):
            for kind in ("text", "open"):
                with self.subTest(seed=seed, kind=kind):
                    wrote = subprocess.run([python, "-c", WRITE, str(seed), kind], capture_output=True, timeout=60)
                    self.assertEqual(wrote.returncode, 0, wrote.stderr[-2000:])
                    want = sorted(wrote.stderr.decode().split("\n"))
                    got = subprocess.run([DUMP], input=wrote.stdout, capture_output=True, timeout=60)
                    self.assertEqual(got.returncode, 0)
                    lines = got.stdout.decode().splitlines()
                    self.assertEqual(lines[-1], "bad 0", wrote.stdout.decode())
                    rows = []
                    for line in lines[:-1]:
                        name, _, _, value, labels, exemplar = line.split("\t")
                        labels = ",".join(sorted(labels.split(","))) if labels else ""
                        rows.append("\t".join([name, value, labels, exemplar]))
                    self.assertEqual([self.norm(r) for r in sorted(rows)], [self.norm(r) for r in want])

    @staticmethod
    def norm(row):
        name, value, labels, exemplar = row.split("\t")
        return name, value.replace("-nan", "nan"), ",".join(sorted(labels.split(","))), exemplar


if __name__ == "__main__":
    tap.main()

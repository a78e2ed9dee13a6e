#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""SciPy as a second opinion on quantiles, proportions, paired tests, equivalence, the best of several and fits."""
import json
import os
import subprocess
import unittest

import pypi
import tap

BUILD = os.environ.get("JM_BUILD", "build")
DUMP = os.path.join(BUILD, "tests", "compute", "stat_dump")

# writes questions to standard output, and what SciPy answers (numbers, relative and absolute tolerance) to standard error
ASK = r'''
import json, sys
import numpy as np
from scipy import optimize, stats
rng = np.random.default_rng(20240611)
asked, answers = [], []
def ask(word, numbers, want, rel, tol=0.0):
    asked.append(word + " " + " ".join("%.17g" % x for x in numbers))
    answers.append([[float(x) for x in want], rel, tol])

def t_quantile(p, nu):  # by the beta quantile: t.ppf of SciPy 1.11 has nine digits only
    q = min(p, 1 - p)
    t = np.sqrt(nu * stats.beta.isf(2 * q, .5, nu / 2) / stats.beta.ppf(2 * q, nu / 2, .5))
    return t if p > .5 else -t
for p in (1e-9, 1e-4, .025, .05, .3, .7, .95, .975, .995, .999999):
    for a in (.5, 1, 2, 3.7, 9, 29, 120, 9999, 20001):
        for b in (.7, 1, 4, 60, 5000):
            t = float(rng.normal() * 3)
            ask("quantile", (p, a, b, t), (stats.norm.ppf(p), t_quantile(p, a), stats.chi2.ppf(p, a), stats.beta.ppf(p, a, b), stats.t.sf(t, a)), 1e-10)
for k, n in ((0, 1), (1, 1), (0, 20), (4, 20), (95, 100), (100, 100), (990, 1000), (99000, 100000), (3, 1000000), (999990, 1000000), (5000000, 10000000)):
    for level in (.9, .95, .99):
        c = stats.binomtest(k, n).proportion_ci(level, method="exact")
        lo, hi = stats.beta.ppf(.5 - level / 2, k, n - k + 1) if k else 0, stats.beta.isf(.5 - level / 2, k + 1, n - k) if k < n else 1
        assert abs(c.low - lo) < 1e-9 and abs(c.high - hi) < 1e-9  # its own root has no more digits
        ask("proportion", (k, n, level), (lo, hi), 1e-10)
for n in (3, 4, 6, 12, 30):
    for shift in (0, -.01, -.05, .03):
        a = np.exp(rng.normal(0, .1, n)); b = a * np.exp(rng.normal(shift, .01, n)); d = np.log(b / a)
        test = stats.ttest_rel(np.log(b), np.log(a)); ci = test.confidence_interval(.95); narrow = test.confidence_interval(.90)
        limit = np.log(1.02)
        tost = max(stats.ttest_1samp(d, -limit, alternative="greater").pvalue, stats.ttest_1samp(d, limit, alternative="less").pvalue)
        floor = abs(d.mean()) + stats.t.ppf(.975, n - 1) * d.std(ddof=1) * np.sqrt(1 / 6 + 1 / n)
        ask("paired", (.02, *a, *b), (np.exp(d.mean()), np.exp(ci.low), np.exp(ci.high), test.pvalue, stats.ttest_1samp(d, 0, alternative="less").pvalue,
            tost, np.exp(narrow.low), floor), 1e-8, 1e-15)
for n in (4, 6, 12, 30):  # quads: least squares of d = mean ± drift
    for shift, drift in ((0, 0), (-.03, .01), (-.01, -.2)):
        sign = np.where(np.arange(n) % 2, -1, 1)
        d = rng.normal(shift, .01, n) + drift * sign
        fit = stats.linregress(sign, d)
        t, se, limit = fit.intercept / fit.intercept_stderr, fit.intercept_stderr, np.log(1.02)
        half, narrow = stats.t.ppf(.975, n - 2) * se, stats.t.ppf(.95, n - 2) * se
        assert abs(fit.intercept - (d[0::2] + d[1::2]).mean() / 2) < 1e-12  # the mean of the quads
        ask("abba", (.02, *d), (fit.intercept, fit.slope, se, np.exp(fit.intercept - half), np.exp(fit.intercept + half),
            2 * stats.t.sf(abs(t), n - 2), max(stats.t.sf((fit.intercept + limit) / se, n - 2), stats.t.sf((limit - fit.intercept) / se, n - 2)),
            np.exp(fit.intercept + narrow)), 1e-8, 1e-15)
for k in (1, 2, 3, 8, 20):
    p = rng.random(k) ** 3
    order = np.argsort(p); adj = np.empty(k); adj[order] = np.minimum(1, np.maximum.accumulate((k - np.arange(k)) * p[order]))
    ask("holm", p, adj, 1e-12)

def power(n, r, alpha):  # noncentral t
    t, e = stats.t.ppf(1 - alpha / 2, n - 1), r * np.sqrt(n)
    return stats.nct.sf(t, n - 1, e) + stats.nct.cdf(-t, n - 1, e)
def power_same(n, r, alpha):  # over the scatter that may be found
    t, e = stats.t.ppf(1 - alpha, n - 1), r * np.sqrt(n)
    c = np.sqrt(stats.chi2.ppf((np.arange(4000) + .5) / 4000, n - 1) / (n - 1))
    return np.maximum(0, 2 * stats.norm.cdf(e - t * c) - 1).mean()
for r in (4, 2, 4 / 3, 1, 2 / 3, .5, 1 / 3):
    for same, f in ((0, power), (1, power_same)):
        n = next(n for n in range(2, 200) if f(n, r, .05) >= .8)
        ask("pairs", (.01, .01 * r, same, .05, .8), (n,), 0)

# the best of k by the hybrid method of Andrews, Kitagawa and McCloskey, from their definition: truncated normal of SciPy, root by brentq
for k in (1, 2, 3, 5, 10):
    for rho, dof in ((0, 1e9), (.5, 1e9), (0, 5), (.3, 11)):
        x, se = rng.normal(2, .7, k), rng.uniform(.4, 1.6, k)
        w = int(np.argmax(x)); alpha = .05; beta = alpha / 10
        s = se[w] * stats.t.ppf(.975, dof) / stats.norm.ppf(.975)
        c = stats.norm.ppf(.5 + (1 - beta) ** (1 / k) / 2)
        lo, hi = -np.inf, np.inf
        for j in range(k):
            if j == w: continue
            r = rho * se[j] / se[w]; z = x[j] - r * x[w]
            if r < 1: lo = max(lo, z / (1 - r))
            elif r > 1: hi = min(hi, z / (1 - r))
        def below(mu, s):
            a, b = max((lo - mu) / s, -c), min((hi - mu) / s, c)
            return stats.truncnorm.cdf((x[w] - mu) / s, a, b)
        def at(q, s):
            e = 1e-7 * s
            return optimize.brentq(lambda mu: below(mu, s) - q, x[w] - c * s + e, x[w] + c * s - e, xtol=1e-13, rtol=1e-14)
        tail = (alpha - beta) / (1 - beta) / 2
        ask("winner", (k, rho, dof, *x, *se), (w, at(.5, se[w]), at(1 - tail, s), at(tail, s)), 1e-6, 1e-6)

for trial in range(60):
    n, p = int(rng.integers(8, 200)), int(rng.integers(1, 9))
    A = rng.gamma(1, 1, (n, p)) * 10.0 ** rng.integers(-6, 7, p)
    x = rng.normal(0, 1, p) / A.mean(0)  # about half of them are negative
    y = A @ x + rng.normal(0, .3, n)
    pin = np.full(p, 1e99)
    free = np.ones(p, bool)
    if p > 1 and trial % 3 == 0:
        free[0] = False; pin[0] = x[0]
    scale = np.linalg.norm(A[:, free], axis=0)
    rest = y - A[:, ~free] @ pin[~free]
    fit = optimize.lsq_linear(A[:, free] / scale, rest, (0, np.inf), method="bvls", tol=1e-15)
    got, norm = optimize.nnls(A[:, free] / scale, rest)
    assert abs(norm ** 2 - 2 * fit.cost) <= 1e-8 * norm ** 2
    want = pin.copy(); want[free] = got / scale
    # each coefficient to a part of what its column gives, which is what rounding moves
    ask("nnls", (n, p, *pin, *np.column_stack((A, y)).ravel()), (norm ** 2, np.linalg.cond(A[:, free] / scale), *want), 1e-7, 0.0)
print("\n".join(asked))
sys.stderr.write(json.dumps(answers))
'''


class SciPy(unittest.TestCase):
    def test_against_scipy(self):
        python, why = pypi.prepare("scipy", "scipy==1.11.4 numpy==1.26.4", "scipy.stats, scipy.optimize")
        if not python:
            self.skipTest(why)
        asked = subprocess.run([python, "-W", "ignore", "-c", ASK], capture_output=True, timeout=120)
        self.assertEqual(asked.returncode, 0, asked.stderr[-2000:].decode())
        questions, answers = asked.stdout.decode().splitlines(), json.loads(asked.stderr)
        got = subprocess.run([DUMP], input=asked.stdout, capture_output=True, timeout=60)
        self.assertEqual(got.returncode, 0, got.stderr)
        lines = got.stdout.decode().splitlines()
        self.assertEqual(len(lines), len(answers))
        self.assertGreater(len(lines), 500)
        wrong = []
        for question, line, (want, rel, tol) in zip(questions, lines, answers):
            have = [float(x) for x in line.split()] if line != "refused" else []
            if len(have) != len(want) or not all(abs(a - b) <= rel * abs(b) + tol for a, b in zip(have, want)):
                wrong.append(f"{question[:90]}: {have}, SciPy {want}")
        self.assertEqual(wrong, [], "\n".join(wrong[:12]) + f"\n{len(wrong)} of {len(lines)} differ")


if __name__ == "__main__":
    tap.main()

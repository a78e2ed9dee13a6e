#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CodeCarbon, Zeus and CarbonTracker (PyPI) and joulemark measure the same simulated GPUs and powercap counters at the same time.

joulemark's figures are held to the truth by its own intervals; those of the others are printed, and not judged: they had to run.
"""
import os
import sys
import unittest

import agreement
import tap

LAB = agreement.Lab(os.environ["JM_BUILD"], seconds=3.0)


class Agreement(unittest.TestCase):
    def test_against_the_truth(self):
        rows = LAB.run()
        print(agreement.table(rows), file=sys.stderr)
        self.assertEqual(len(rows), 4 * len(agreement.WHAT))
        for row in rows:
            with self.subTest(scenario=row["scenario"], tool=row["tool"]):
                self.assertIsNone(row["error"])
                if row["tool"] == "joulemark":
                    self.ours(row)

    def ours(self, row):
        (gpu, true_gpu), (_, true_cpu) = agreement.pairs(row)
        self.assertEqual(gpu, row["gpu"]["value"])
        # twice its half width: an interval of 95 % misses one truth in twenty. The counters of RAPL are as late as their writer was.
        for x, true, late in (row["gpu"], true_gpu, 0), (row["device"], true_gpu + true_cpu, row["true"]["late_j"]):
            half = (x["interval"]["hi"] - x["interval"]["lo"]) / 2
            self.assertLessEqual(abs(x["value"] - true), 2 * half + late, (row["scenario"], x, true))
        self.assertEqual(row["gpu"]["set"], "gpu{gpu x 4}" if row["scenario"] == "all" else "gpu{gpu}")
        # psys and the package's mirror are no part of it, DRAM is
        self.assertEqual(row["device"]["set"].replace("gpu x 4", "gpu"),
                         "device{package,gpu}" if row["scenario"] == "all" else "device{package x 2,dram x 2,gpu}")
        # a counter that began anew is said, and a wrap is none
        t = row["true"]
        if t["reset"] is None or t["t0"] + 10**9 < t["reset"] < t["t1"] - 10**9:
            self.assertEqual("counter.reset" in row["said"], t["reset"] is not None, row["said"])


if LAB.why:
    print(LAB.why)
    sys.exit(77)
tap.main()

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Level runs for a calibration, of a simulated node: idle, and seven loads up to full. On a real machine a level is a
# recording with GPUs and wall meter while the load stands, for instance
#
#   joulemark bench URL --config node.yaml --rate 4 --duration 5min -o out/level-4.jmr
#   joulemark record --config node.yaml -t 5min -o out/level-idle.jmr        # nothing served
#
# usage: examples/calibrate/levels.sh [joulemark [out]]
set -eu
jm=${1:-joulemark}
out=${2:-out}
course=0
for load in 0 0.1 0.25 0.4 0.55 0.7 0.85 1; do
    course=$((course + 1)) # one machine, and each time another course of what is random on it
    "$jm" sim node --minutes 2 --load "$load" --course $course -o "$out/level$load.jmr" --force
done
# a run of the same node whose wall nobody measured
"$jm" sim node --minutes 2 --load 0.5 --course 9 --instrument analyzer:off --instrument pdu:off --instrument bmc:off \
    -o "$out/gpus.jmr" --force
echo "now: $jm calibrate $out/level*.jmr -o $out/node.jmcal"
echo "     $jm show $out/gpus.jmr --calibration $out/node.jmcal"

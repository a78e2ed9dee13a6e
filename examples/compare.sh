#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# How a.jmr and b.jmr beside this script were made: two simulated nodes with one GPU each, under the same load. A serves
# with the engine as it is; B with one whose steps take 6 % less time at the same power, as a new version with faster
# kernels may. Everything is simulated, and labelled so in the files. Takes about two minutes.
#
#     examples/compare.sh build/joulemark out
set -eu
joulemark=${1:?"usage: compare.sh JOULEMARK FOLDER"} folder=${2:?"usage: compare.sh JOULEMARK FOLDER"}

measure() { # FILE LABEL, then options of the engine
    file=$1 label=$2
    shift 2
    exec 7< <(exec "$joulemark" sim node --gpus 1 --engine 8b-h100 "$@")
    node=$!
    trap 'kill "$node" 2>/dev/null || true' EXIT
    read -r where <&7
    value() { printf %s "$where" | sed "s/.*\"$1\": *\"\([^\"]*\)\".*/\1/"; }
    JOULEMARK_HOST=example JOULEMARK_SIM_GPU=$(value state) JM_NVML_LIB=libnvidia-ml.so.1 \
        LD_LIBRARY_PATH=$(dirname "$(value lib)") "$joulemark" bench "$(value url)" --force -o "$file" \
        --label "$label" -m nvml -c 8 --isl 256 --osl 64 --ignore-eos --temperature 0 --trials 6 -t 6s -w 3s --idle 0s
    kill "$node"
    wait "$node" 2>/dev/null || true
    exec 7<&-
    trap - EXIT
}

mkdir -p "$folder"
measure "$folder/a.jmr" "engine as it is"
measure "$folder/b.jmr" "engine with faster kernels" --speed 1.06

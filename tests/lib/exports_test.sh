#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The shared library exports joulemark_* and nothing else.
set -u
lib=$JM_BUILD/src/lib/libjoulemark.so
others=$(nm -D --defined-only "$lib" | awk '{print $3}' | sed 's/@.*//' | grep -v '^joulemark_' | grep -vE '^(_init|_fini|__(asan|ubsan|tsan|gcov|llvm).*|_edata|_end|__bss_start)$')
echo 1..2
if [ -z "$others" ]; then echo "ok 1 - nothing but joulemark_* is exported"; else echo "not ok 1 - exported beside joulemark_*: $(echo "$others" | head -5 | tr '\n' ' ')"; fi
declared=$(grep -o 'joulemark_[a-z_]*(' "$JM_SOURCE/include/joulemark.h" | tr -d '(' | sort -u | grep -v -x joulemark_options)
missing=
for f in $declared; do nm -D --defined-only "$lib" | grep -q " $f\$" || missing="$missing $f"; done
if [ -z "$missing" ]; then echo "ok 2 - everything declared is there"; else echo "not ok 2 - declared but missing:$missing"; fi
[ -z "$others$missing" ]

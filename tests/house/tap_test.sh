#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The counting of test cases itself: what tap-run makes of each kind of program.
set -u
run=$(dirname "$0")/../support/tap-run
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
n=0
check() { # NAME EXPECTED-TEXT SCRIPT
    n=$((n + 1))
    printf '%s\n' "$3" >"$dir/case_test.sh"
    out=$(python3 "$run" "$dir/case_test.sh" 2>&1)
    if [ "$out" = "$2" ]; then
        echo "ok $n - $1"
    else
        echo "not ok $n - $1"
        printf '# expected:\n%s\n# got:\n%s\n' "$2" "$out" | sed '/^#/!s/^/#   /'
    fi
}
check 'a silent success is one case' $'ok 1 - case_test\n1..1' 'exit 0'
check 'a silent failure is one failed case' $'not ok 1 - case_test: exit status 3\n1..1' 'exit 3'
check 'status 77 is a skip with its reason' $'# no corpus\n1..0 # SKIP no corpus' 'echo no corpus; exit 77'
check 'a signal is a failure' $'not ok 1 - case_test: killed by SIGKILL\n1..1' 'kill -9 $$'
check 'two groups are one plan' $'ok 1 - a\nok 2 - b\n1..2' 'printf "1..1\nok 1 - a\n1..1\nok 1 - b\n"'
check 'the skip of cmocka keeps its name' $'ok 1 - name # SKIP\n1..1' 'printf "1..1\nnot ok 1 # SKIP name\n"'
check 'cases that were planned must come' \
    $'ok 1 - a\nnot ok 2 - case_test: 2 cases planned, 1 reported, exit status 0\n1..2' 'printf "1..2\nok 1 - a\n"'
check 'a bad end after good cases is a failure' \
    $'ok 1 - a\nnot ok 2 - case_test: every case passed, but exit status 1\n1..2' 'printf "1..1\nok 1 - a\n"; exit 1'
echo "1..$n"

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tools/install-deps on machines that are not this one: apt-get, sudo and id are stand-ins on a PATH of their own.
set -u
tool=$JM_SOURCE/tools/install-deps
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
n=0
ok() { # CONDITION-STATUS NAME
    n=$((n + 1))
    if [ "$1" = 0 ]; then echo "ok $n - $2"; else
        echo "not ok $n - $2"
        sed 's/^/#   /' "$dir/out"
    fi
}
# a machine: real tools that the script uses, and the stand-ins asked for
machine() { # UID STAND-IN...
    rm -rf "$dir/bin" "$dir/have" && mkdir "$dir/bin" "$dir/have"
    for t in bash env dirname grep sed sort tr cat true; do ln -s "$(type -P $t)" "$dir/bin/$t"; done
    printf '#!/bin/sh\necho %s\n' "$1" >"$dir/bin/id"
    shift
    for s; do
        case $s in
        # installs each package it is given, by making the file that the probe looks for; "broken" never works
        apt-get) printf '#!/bin/sh\necho "apt-get $*" >>%s/log\ncase " $* " in *" broken "*) exit 100;; esac\nfor p; do :>%s/have/"${p##*/}"; done\n' "$dir" "$dir" ;;
        sudo-open) printf '#!/bin/sh\nshift; exec "$@"\n' ;;
        sudo-closed) printf '#!/bin/sh\nexit 1\n' ;;
        esac >"$dir/bin/${s%%-open}"
        [ "$s" = sudo-closed ] && mv "$dir/bin/sudo-closed" "$dir/bin/sudo"
    done
    chmod +x "$dir"/bin/*
    : >"$dir/log"
}
row() { printf 'test -e %s/have/%s\t%s\t%s\t%s\t%s\twhat %s is for\n' "$dir" "$1" "$2" "$3" "$4" "$5" "$1"; }
table() { cat >"$dir/deps.tsv"; }
run() {
    (PATH=$dir/bin JM_DEPS_TABLE=$dir/deps.tsv JM_OS_RELEASE=$dir/os-release bash "$tool" "$@") >"$dir/out" 2>&1
    status=$?
}
has() { grep -qF -- "$1" "$dir/${2:-out}"; }
echo 'ID=debian' >"$dir/os-release"

{ row a build a a-u needed; row b build b b needed; row c check c c needed; row o build o o optional; } | table
machine 0 apt-get
: >"$dir/have/a"; : >"$dir/have/b"; : >"$dir/have/o"
run build
[ $status = 0 ] && ! [ -s "$dir/log" ]; ok $? 'nothing is touched where all is there'
run build check
[ $status = 0 ] && [ -e "$dir/have/c" ] && has 'install -y --no-install-recommends c' log && has 'update' log
ok $? 'root installs what is missing, after an update'
! has ' a' log; ok $? 'what is there is not asked for'

machine 1000 apt-get
run build
[ $status = 4 ] && has 'run as root: apt-get update && apt-get install -y --no-install-recommends a b o' && ! [ -s "$dir/log" ]
ok $? 'without root the one command is printed, exit 4'
[ "$(grep -c 'apt-get install' "$dir/out")" = 1 ]; ok $? 'it is one command'
: >"$dir/have/a"; : >"$dir/have/b"
run build
[ $status = 0 ] && has 'optional'; ok $? 'without an optional part it goes on'

machine 1000 apt-get sudo-closed
run build
[ $status = 4 ] && has "sudo sh -c 'apt-get update && apt-get install -y"; ok $? 'a sudo with a password is named, not called'
machine 1000 apt-get sudo-open
run build
[ $status = 0 ] && [ -e "$dir/have/a" ]; ok $? 'a sudo without a password is used'

echo 'ID=ubuntu' >"$dir/os-release"
{ printf 'test -e %s/have/a-u\tbuild\ta\ta-u\tneeded\twhat\n' "$dir"; } | table
machine 0 apt-get
run build
[ $status = 0 ] && has ' a-u' log; ok $? 'Ubuntu gets its own name'
echo 'ID=debian' >"$dir/os-release"

{ row broken build broken broken optional; row fine build fine fine optional; row a build a a needed; } | table
machine 0 apt-get
run build
[ $status = 0 ] && [ -e "$dir/have/fine" ] && has 'optional, left out: broken'
ok $? 'an optional part that cannot be had keeps no other out'
{ row broken build broken broken needed; } | table
machine 0 apt-get
run build
[ $status = 4 ] && has 'still missing' && has 'what broken is for'; ok $? 'a needed part that cannot be had is exit 4'

{ row a build a a needed; row own build - - optional; } | table
machine 0
run build
[ $status = 4 ] && has 'no apt-get here' && has "Debian's): a"; ok $? 'without apt the names are given'
{ row own build - - optional; } | table
run build
[ $status = 0 ] && ! has install-deps; ok $? 'a part that is left to the user stops nothing'
{ row own build - - needed; } | table
run build
[ $status = 4 ]; ok $? 'unless it is needed'

run; [ $status = 2 ]; ok $? 'no group is a usage error'
run nonsense; [ $status = 2 ] && has "no group 'nonsense'"; ok $? 'an unknown group is a usage error'

table=$JM_SOURCE/packaging/deps.tsv
! grep -v '^#' "$table" | awk -F'\t' 'NF != 6 || ($5 != "needed" && $5 != "optional") || $2 !~ /^(build|check|ci|demo)$/ {print; bad = 1} END {exit !bad}' >"$dir/out"
ok $? 'every row of packaging/deps.tsv has its six columns'
echo "1..$n"

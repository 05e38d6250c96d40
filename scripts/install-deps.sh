#!/bin/sh
# Makes sure that everything a build needs is here. Looks first, and touches nothing when all is there, so that
# it works without a network; else installs the Debian or Ubuntu packages where that asks no password.
set -u
missing=

program() { command -v "$1" >/dev/null 2>&1 || missing="$missing $2"; }
header() { echo "#include <$1>" | cc -E - >/dev/null 2>&1 || missing="$missing $2"; }
library() { [ "$(cc -print-file-name="$1" 2>/dev/null)" != "$1" ] || missing="$missing $2"; }

program cc build-essential
program make build-essential
program cmake cmake
program ninja ninja-build
program re2c re2c
program lemon lemon
program pkg-config pkg-config
if command -v cc >/dev/null 2>&1; then
    header stdio.h build-essential
    header uthash.h uthash-dev
    header xxhash.h libxxhash-dev
    header sqlite3.h libsqlite3-dev
    library libsqlite3.a libsqlite3-dev
    header cmocka.h libcmocka-dev
else
    missing="$missing uthash-dev libxxhash-dev libsqlite3-dev libcmocka-dev"
fi
[ -n "$missing" ] || exit 0
missing=$(echo "$missing" | tr -s ' ' '\n' | sort -u | xargs)

refuse() {
    echo "kfuse cannot be built yet: $1. Install, then run make again:" >&2
    echo "  ${2}apt-get install -y $missing" >&2
    exit 1
}
command -v apt-get >/dev/null 2>&1 || refuse "packages are missing, named here as Debian names them" ""
if [ "$(id -u)" = 0 ]; then
    as_root="env"
elif sudo -n true 2>/dev/null; then
    as_root="sudo -n env"
else
    refuse "packages are missing" "sudo "
fi
echo "installing: $missing" >&2
$as_root DEBIAN_FRONTEND=noninteractive apt-get -qq update >&2 || echo "apt-get update failed; trying with the lists that are here" >&2
# shellcheck disable=SC2086
$as_root DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends $missing >&2 ||
    refuse "apt-get failed" "sudo "

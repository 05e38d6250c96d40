#!/bin/sh
# Makes sure that everything a build needs is here. Looks first, and touches nothing when all is there, so that
# it works without a network; else installs the Debian or Ubuntu packages where that asks no password. `tests`: what
# some tests take, too, which are skipped without it.
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
program protoc-c protobuf-c-compiler
program pkg-config pkg-config
if command -v cc >/dev/null 2>&1; then
    header stdio.h build-essential
    header uthash.h uthash-dev
    header xxhash.h libxxhash-dev
    header sqlite3.h libsqlite3-dev
    library libsqlite3.a libsqlite3-dev
    header protobuf-c/protobuf-c.h libprotobuf-c-dev
    library libprotobuf-c.a libprotobuf-c-dev
    header cmocka.h libcmocka-dev
else
    missing="$missing uthash-dev libxxhash-dev libsqlite3-dev libprotobuf-c-dev libcmocka-dev"
fi
if [ "${1-}" = tests ]; then
    program valgrind valgrind
    program parallel parallel
    program python3 python3
    python3 -c 'import numpy' >/dev/null 2>&1 || missing="$missing python3-numpy"
fi
[ -n "$missing" ] || exit 0
missing=$(echo "$missing" | tr -s ' ' '\n' | sort -u | xargs)

sudo=
[ "$(id -u)" = 0 ] || sudo="sudo "
refuse() {
    echo "kfuse cannot be built yet: $1. Install, then run make again:" >&2
    echo "  ${sudo}apt-get update && ${sudo}apt-get install -y $missing" >&2
    exit 1
}
command -v apt-get >/dev/null 2>&1 || refuse "packages are missing, named here as Debian names them"
[ -z "$sudo" ] || sudo -n true 2>/dev/null || refuse "packages are missing"

# The installer's own talk is long and says nothing; its errors are on stderr.
quietly() { ${sudo:+sudo -n} env DEBIAN_FRONTEND=noninteractive apt-get -qq "$@" >/dev/null; }
echo "installing: $missing" >&2
quietly update || echo "apt-get update failed; trying with the lists that are here" >&2
# shellcheck disable=SC2086
quietly install -y --no-install-recommends $missing || refuse "apt-get failed"

#!/usr/bin/env bash
# Runs one shell test in a fresh folder with its own store and no user's ops, and cleans up behind it.
set -eu
TMP=$(mktemp -d)
trap 'rm -rf "$TMP"' EXIT
export TMP KFUSE_CACHE=$TMP/cache XDG_CONFIG_HOME=$TMP/config HOME=$TMP
cd "$TMP"
source "$SOURCE/tests/script.sh"
source "$1"

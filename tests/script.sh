# What shell tests share. `fail WORDS…` ends the test; `run COMMAND…` leaves $status, $out, $err.
set -u
fail() { printf 'FAIL: %s\n' "$*"; [ -n "${out-}${err-}" ] && printf -- '--- stdout\n%.4000s\n--- stderr\n%.4000s\n' "$out" "$err"; exit 1; }
skip() { printf 'skipped: %s\n' "$*"; exit 77; }
run() { status=0; "$@" >"$TMP/.out" 2>"$TMP/.err" || status=$?; out=$(cat "$TMP/.out"); err=$(cat "$TMP/.err"); }
expect_status() { [ "$status" = "$1" ] || fail "exit $status, expected $1"; }
expect_out() { case $out in *"$1"*) ;; *) fail "stdout lacks: $1" ;; esac; }
expect_err() { case $err in *"$1"*) ;; *) fail "stderr lacks: $1" ;; esac; }
expect_no_out() { [ -z "$out" ] || fail "stdout is not empty"; }
expect_no_err() { [ -z "$err" ] || fail "stderr is not empty"; }

# A tuning run that is short: `tune EXPR --shape 8`, `tune run EXPR x=x.npy -o y.npy`. KF_DEVICE=cuda runs the
# same tests on a GPU.
device=${KF_DEVICE:-cpu}
tune() { run "$KFUSE" "$@" --device "$device" --effort quick --trials 2 --budget 20 --quiet; }
tuned() { tune "$@"; [ "$status" = 0 ] || fail "exit $status: kfuse $*"; }

# `refused STATUS TEXT WORDS…`: kfuse WORDS ends with STATUS and says TEXT; nothing on stdout, no file, no process.
refused() {
    local expected=$1 text=$2 before
    shift 2
    before=$(files)
    run "$KFUSE" "$@"
    [ "$status" = "$expected" ] || fail "exit $status, expected $expected: kfuse ${*:1}"
    expect_no_out
    expect_err "$text"
    [ "$before" = "$(files)" ] || fail "left behind: $(files)"
    expect_no_process
}
files() { find . -path ./cache -prune -o -name .out -o -name .err -o -print | sort; }

# Processes that work for this test's store.
processes() {
    local path
    for path in $(grep -lzsx "KFUSE_CACHE=$KFUSE_CACHE" /proc/[0-9]*/environ); do
        case $(cat "${path%environ}comm" 2>/dev/null) in kfuse*) path=${path%/environ}; echo "${path##*/}" ;; esac
    done
}
expect_no_process() {
    local i
    for i in 1 2 3 4 5 6 7 8 9 10; do
        [ -z "$(processes)" ] && return
        sleep 0.2
    done
    fail "still running: $(processes)"
}

# `json KEY`: its value in the object on stdout. `npy FILE TYPE SHAPE VALUE…` writes, `npy FILE` prints.
json() { printf '%s\n' "$out" | grep -oE "\"$1\":(\{[^}]*\}|\[[^]]*\]|\"([^\"\\]|\\\\.)*\"|[^,}]*)" | head -1 | cut -d: -f2-; }
expect_json() { [ "$(json "$1")" = "$2" ] || fail "$1 is $(json "$1"), expected $2"; }
npy() { "$NPY" "$@" || fail "npy $*"; }
expect_npy() { [ "$(npy "$1")" = "$2" ] || fail "$1 holds $(npy "$1"), expected $2"; }

# `computes EXPECTED EXPR WORDS…`: the one output of kfuse run.
computes() {
    local expected=$1
    shift
    tuned run "$@" -o computed.npy
    expect_npy computed.npy "$expected"
    rm computed.npy
}

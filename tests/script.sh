# What shell tests share. `fail WORDS…` ends the test; `run COMMAND…` leaves $status, $out, $err.
set -u
fail() { printf 'FAIL: %s\n' "$*"; [ -n "${out-}${err-}" ] && printf -- '--- stdout\n%s\n--- stderr\n%s\n' "$out" "$err"; exit 1; }
run() { status=0; "$@" >"$TMP/.out" 2>"$TMP/.err" || status=$?; out=$(cat "$TMP/.out"); err=$(cat "$TMP/.err"); }
expect_status() { [ "$status" = "$1" ] || fail "exit $status, expected $1"; }
expect_out() { case $out in *"$1"*) ;; *) fail "stdout lacks: $1" ;; esac; }
expect_err() { case $err in *"$1"*) ;; *) fail "stderr lacks: $1" ;; esac; }
expect_no_out() { [ -z "$out" ] || fail "stdout is not empty"; }

# kfuse-worker by hand: one line that says what it is for, no crash, nothing on stdout.
run "$KFUSE_WORKER"
expect_status 2
expect_no_out
expect_err "run kfuse"
[ "$(printf '%s\n' "$err" | wc -l)" = 1 ] || fail "more than one line"
run "$KFUSE_WORKER" compile cuda </dev/null
expect_status 2
run "$KFUSE_WORKER" measure nothing x 3</dev/null
expect_status 2

# Ctrl-C in the middle of a run: exit 130, no process left, a store that works. A parent that is killed takes its
# workers with it, and what it had measured is not lost for ever.
problem='tanh(x) * sigmoid(y) + gelu(x)'

# start WORDS…: kfuse in the background; its number in $pid. Waits until it has workers.
start() {
    "$KFUSE" "$@" --device "$device" --quiet >"$TMP/.out" 2>"$TMP/.err" &
    pid=$!
    local i
    for i in $(seq 100); do
        [ "$(processes | wc -l)" -gt 1 ] && return
        sleep 0.02
    done
    fail "no workers came"
}
finish() { status=0; wait $pid || status=$?; out=$(cat "$TMP/.out"); err=$(cat "$TMP/.err"); }

for signal in INT TERM; do
    for wait in 0 0.3 1; do
        start "$problem" --shape 500x500 --effort full --budget 30 --retune
        sleep $wait
        kill -$signal $pid
        finish
        expect_status 130
        expect_no_process
        case $out in '' | "tanh(x)"*) ;; *) fail "not a report" ;; esac
        [ -n "$out$err" ] || fail "nothing said"
    done
done
run "$KFUSE" cache ls
expect_status 0

for wait in 0 0.5; do
    start "$problem" --shape 500x500 --effort full --budget 30 --retune
    sleep $wait
    kill -9 $pid
    finish 2>/dev/null
    expect_no_process
    tuned "$problem" --shape 40x40
    expect_out "$KFUSE_CACHE/kfuse.db   next run"
done
tuned "$problem" --shape 40x40 --json
expect_json cached true

# What was found right and not timed any more has not been tried: one trial is enough to do it.
for wait in 0.1 0.3; do
    KFUSE_CACHE=$TMP/again$wait
    start 'tanh(x) * 2' --shape 502 --budget 30
    sleep $wait
    kill -INT $pid
    finish
    run "$KFUSE" 'tanh(x) * 2' --shape 502 --device "$device" --trials 1 --budget 1 --quiet
    expect_status 0
done
KFUSE_CACHE=$TMP/cache

# In the middle of `run`, no output file appears.
npy x.npy f32 100x100 1
start run 'tanh(x) * 2' x=x.npy -o out.npy --effort full --budget 30
kill -INT $pid
finish
expect_status 130
[ -z "$(ls out.npy* 2>/dev/null)" ] || fail "an output file after Ctrl-C"

# A terminal's Ctrl-C reaches the workers too: they are not counted as crashes.
set -m
start "$problem" --shape 44x44 --effort full --budget 30
set +m
sleep 0.5
kill -INT -- -$pid
finish
expect_status 130
expect_no_process
run "$KFUSE" cache show ''
case $out in *crash*) fail "an interrupt became a crash" ;; esac

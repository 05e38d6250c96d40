# Two processes, and then six, on one store, the same problem and different ones: all answer, and the store holds all.
start() { "$KFUSE" "$1" --shape "$2" --device "$device" --effort quick --trials 2 --budget 30 --quiet >"out.$3" 2>"err.$3" & pids+=($!); }
pids=()
start 'x * y' 64x64 1
start 'x * y' 64x64 2
for i in 3 4 5 6; do start 'tanh(x) + y' "3${i}x9" $i; done
n=1
for pid in "${pids[@]}"; do
    wait "$pid" || fail "kfuse $n: exit $?: $(cat err.$n)"
    grep -q '^right  ' out.$n || fail "kfuse $n has no report: $(cat out.$n)"
    n=$((n + 1))
done
for i in 3 4 5 6; do
    tuned 'tanh(x) + y' --shape "3${i}x9" --json
    expect_json cached true
done
tuned 'x * y' --shape 64x64 --json
expect_json cached true
expect_no_process

# One clears what the other uses: both go on.
"$KFUSE" 'exp(x)' --shape 1000 --device "$device" --trials 6 --budget 4 --quiet >out.7 2>err.7 &
run "$KFUSE" cache clear
wait $! || fail "exit $? beside 'cache clear': $(cat err.7)"
tuned 'exp(x)' --shape 1000

# helion #1330: a crash loses hours of search. What was measured before kill -9 is not measured again.
problem='tanh(x) * y'
words="--shape 64x64 --device $device --strategy grid --trials 40 --budget 60 --quiet"
"$KFUSE" "$problem" $words >/dev/null 2>&1 &
pid=$!
stored() { "$KFUSE" cache ls | sed -n 's/.* \([0-9]*\) trials.*/\1/p'; }
for i in $(seq 300); do
    [ "$(stored)" -gt 7 ] 2>/dev/null && break # finalists among them are measured again, in pairs
    kill -0 $pid 2>/dev/null || break
    sleep 0.1
done
kill -9 $pid 2>/dev/null || true
wait $pid 2>/dev/null || true
before=$(stored)
[ "${before:-0}" -gt 0 ] || fail "nothing stored before the end"
expect_no_process
run "$KFUSE" "$problem" $words --json
expect_status 0
[ "$(json cached)" = true ] || [ "$(json compiled)" -lt "$(json candidates)" ] ||
    fail "$before trials stored, yet $(json compiled) of $(json candidates) compiled"

# `kfuse cache`: path, ls, show, clear.
run "$KFUSE" cache path
expect_status 0
[ "$out" = "$KFUSE_CACHE/kfuse.db" ] || fail "another path"
run "$KFUSE" cache ls
expect_status 0
expect_no_out

tuned 'tanh(x)' --shape 33
tuned 'x * y' --shape 12x5 --dtype f64
run "$KFUSE" cache ls
expect_status 0
[ "$(printf '%s\n' "$out" | wc -l)" = 2 ] || fail "not two lines"
expect_out 'tanh(x)'
expect_out 'x * y'
key=$(printf '%s\n' "$out" | grep tanh | cut -d' ' -f1)
run "$KFUSE" cache show "$key"
expect_status 0
for text in 'tanh(x)' winner BLOCK=; do expect_out "$text"; done
refused 1 "no entry 'zzzz'" cache show zzzz

run "$KFUSE" cache clear
expect_status 0
expect_no_out
run "$KFUSE" cache ls
expect_status 0
expect_no_out
tuned 'tanh(x)' --shape 33 --json
expect_json cached false

# Expressions that are large: nesting has a limit with a diagnostic, length works. No stage may recurse into the
# ground or take for ever.
repeat() { head -c "$2" /dev/zero | sed "s/\x0/$1/g"; }

deep="$(repeat '(' 60000)x$(repeat ')' 60000)"
[ ${#deep} = 120001 ] || fail "the test is broken"
refused 1 'nest' "$deep" --shape 4
[ "$(printf '%s\n' "$err" | wc -l)" -le 4 ] || fail "more than one diagnostic"

{ repeat '(' 1000000; printf x; repeat ')' 1000000; } >deep.kf
refused 1 'nest' -f deep.kf --shape 4
for opening in '-' '!' 'relu(' '2**' 'x ? x : ' 'x*('; do
    repeat "$opening" 100000 >deep.kf
    printf x >>deep.kf
    refused 1 'nest' -f deep.kf --shape 4
done
rm deep.kf

# 10 000 terms, by every stage.
{ printf x; for i in $(seq 9999); do printf ' + x%d' $((i % 7)); done; } >sum.kf
for stage in --ast --ir --plan --c --cuda; do
    run timeout 60 "$KFUSE" dump $stage -f sum.kf --shape 4
    expect_status 0
    [ -n "$out" ] || fail "dump $stage prints nothing"
done
{ printf x; for i in $(seq 9999); do printf ' * %d' $((i % 7)); done; } >product.kf
run timeout 60 "$KFUSE" dump --ir -f product.kf --shape 4
expect_status 0

# 10 000 statements, not one more; 16 MiB; 256 inputs, 64 outputs; names of 255 bytes.
{ echo 'y0 = x'; for i in $(seq 9999); do echo "y$i = y$((i - 1)) + 1"; done; } >statements.kf
run timeout 60 "$KFUSE" dump --ir -f statements.kf --shape 4
expect_status 0
echo 'z = y9999' >>statements.kf
refused 1 '10000 statements' -f statements.kf --shape 4
{ echo x; head -c 17000000 /dev/zero | tr '\0' ' '; } >large.kf
refused 1 '16 MiB' -f large.kf --shape 4
refused 1 '16 MiB' -f /dev/zero --shape 4
rm large.kf

sum() { local i; printf x0; for ((i = 1; i < $1; i++)); do printf ' + x%d' "$i"; done; }
run "$KFUSE" dump --ir "$(sum 256)" --shape 4
expect_status 0
refused 1 '256 inputs' "$(sum 257)" --shape 4
outputs() { local i; for ((i = 0; i < $1; i++)); do printf 'y%d = x + %d; ' "$i" "$i"; done; }
run "$KFUSE" dump --ir "$(outputs 64)" --shape 4
expect_status 0
refused 1 '64 outputs' "$(outputs 65)" --shape 4
run "$KFUSE" dump --c "$(repeat a 255) + 1" --shape 4
expect_status 0
refused 1 '255' "$(repeat a 256) + 1" --shape 4

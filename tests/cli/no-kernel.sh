# What no kernel covers is said in one line with its place, exit 3; the front half of the compiler knows it all.
for expression in 'sum(x)' 'x - mean(x)' 'max(x, axis=all)' 'relu(x) @ y' 'max(x @ y)' 'var(x) + prod(x)'; do
    refused 3 'no kernel covers this ' "$expression" --shape 4x4 --device cpu
    [ "$(printf '%s\n' "$err" | grep -c 'no kernel covers')" = 1 ] || fail "said more than once"
    refused 3 'no kernel covers this ' dump --plan "$expression" --shape 4x4
    refused 3 'no kernel covers this ' dump --c "$expression" --shape 4x4
    refused 3 'no kernel covers this ' dump --cuda "$expression" --shape 4x4
    run "$KFUSE" dump --ir "$expression" --shape 4x4
    expect_status 0
done
npy x.npy f32 2x2 1
refused 3 'no kernel covers this reduction' run 'sum(x)' x=x.npy -o out.npy --device cpu
run "$KFUSE" --json 'sum(x)' --shape 4 --device cpu
expect_status 3
expect_no_out

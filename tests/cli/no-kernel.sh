# What no kernel covers is said in one line with its place, exit 3; the front half of the compiler knows it all.
for expression in 'x @ y' 'relu(x @ y) + 1' 'sum(x @ y)'; do
    refused 3 'no kernel covers this product' "$expression" --shape 4x4 --dtype i32 --device cpu
    [ "$(printf '%s\n' "$err" | grep -c 'no kernel covers')" = 1 ] || fail "said more than once"
    refused 3 'no kernel covers this product' dump --plan "$expression" --shape 4x4 --dtype i32
    refused 3 'no kernel covers this product' dump --c "$expression" --shape 4x4 --dtype i32
    refused 3 'no kernel covers this product' dump --cuda "$expression" --shape 4x4 --dtype i32
    refused 3 'no kernel covers this product' dump --groups "$expression" --shape 4x4 --dtype i32 --device cpu
    run "$KFUSE" dump --ir "$expression" --shape 4x4 --dtype i32
    expect_status 0
done
refused 3 'products are of two arrays of one type: f32 f16 bf16 f64' 'x @ y' --shape 4x4 --dtype y=bf16 --device cpu
npy x.npy i32 2x2 1
refused 3 'no kernel covers this product' run 'x @ x' x=x.npy -o out.npy --device cpu
run "$KFUSE" --json 'x @ x' --shape 4x4 --dtype i32 --device cpu
expect_status 3
expect_no_out

# XLA #37902: some kinds of kernels are not kept, so that results change between runs.
again() {
    run "$KFUSE" "$@" --device cpu --trials 2 --budget 30 --quiet --json
    expect_status 0
    expect_json cached "$cached"
}
cp "$SOURCE"/tests/templates/*.c .
for cached in false true; do
    again 'relu(x) + 1' --shape 64x64
    again 'softmax(x)' --shape 64x64
    again 'layernorm(x, g, b)' --shape x=64x64 --shape g=64 --shape b=64
    again 'x @ w' --shape x=32x32 --shape w=32x32
    again tune scale.c --shape 64
    again tune rows.c --shape x=64x64
done

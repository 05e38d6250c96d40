# CUDALibrarySamples #303: one epilogue of a family is missing while its sibling works. Each works, or is refused by
# a diagnostic at the product.
for type in f32 f16 bf16; do
    tuned 'x @ w' --shape x=33x20 --shape w=20x17 --dtype $type
    for epilogue in 'x @ w + b' 'relu(x @ w + b)' 'gelu(x @ w + b)'; do
        run "$KFUSE" "$epilogue" --shape x=33x20 --shape w=20x17 --shape b=17 --dtype $type --device cpu
        [ "$status" = 0 ] || { [ "$status" = 3 ] && expect_err "no kernel covers this product ('matmul')"; } ||
            fail "exit $status: $epilogue in $type"
    done
done

# Every hand-written C kernel, at a few points and in every type, through the whole gate: what its header says it computes.
# Found by listing; sizes are square, so that one shape does for all. (The CUDA ones run on the host in
# unit.shim_templates, and compile in unit.nvrtc.)
own() {
    run "$KFUSE" tune "$1" --shape 131x131 --dtype $dtype --device cpu --strategy random --trials 3 --quiet --json
    expect_status 0
    expect_json failed '{}'
    echo "${1##*/} $dtype: $(json right) points right, $(json edges) edges"
}
for file in "$SOURCE"/registry/templates/*.c "$SOURCE"/examples/kernels/*.c; do
    grep -q '^//! computes' "$file" || continue
    for dtype in f32 f16 bf16; do own "$file"; done
done

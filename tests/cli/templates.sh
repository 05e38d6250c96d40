# Every hand-written C kernel, at a few points and in every type, through the whole gate: what its header says it computes.
# (The CUDA ones run on the host in unit.shim_templates, and compile in unit.nvrtc.)
for file in "$SOURCE"/registry/templates/*.c; do
    grep -q '^//! computes' "$file" || continue
    for dtype in f32 f16 bf16; do
        case $file in
            */matmul.c) shapes='a=67x35 b=35x41' ;;
            */gelu.c | */softmax.c) shapes='x=37x301' ;;
            */rmsnorm.c) shapes='x=37x301 g=301' ;;
            */bias_gelu.c) shapes='x=37x301 b=301' ;;
            *) shapes='x=37x301 g=301 b=301' ;;
        esac
        words=()
        for shape in $shapes; do words+=(--shape "$shape"); done
        run "$KFUSE" tune "$file" "${words[@]}" --dtype $dtype --strategy random --trials 3 --quiet --json
        expect_status 0
        expect_json failed '{}'
        echo "${file##*/} $dtype: $(json right) points right, $(json edges) edges"
    done
done
run "$KFUSE" tune "$SOURCE/examples/kernels/saxpy.c" --shape 1003 --dtype bf16 --quiet --json
expect_status 0
expect_json failed '{}'

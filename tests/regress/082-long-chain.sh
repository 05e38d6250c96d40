# cutlass #458, pytorch #179494: 40 operations on 12 inputs spill registers. It works, and eager is there to compare.
npy x.npy f32 6 1 2 3 4 5 6
files= expression='a0 + a2 + a6 + a10'
for i in $(seq 0 11); do files="$files a$i=x.npy"; done
for i in $(seq 1 40); do
    case $((i % 4)) in
    0) expression="max($expression, a$((i % 12)))" ;;
    1) expression="($expression + a$((i % 12)))" ;;
    2) expression="($expression * 0.5)" ;;
    3) expression="($expression - 0.25 * a$((i % 12)))" ;;
    esac
done
tuned run "$expression" $files -o out.npy --json
case $(npy out.npy) in 'f32 6 '*nan* | *inf*) fail "$(npy out.npy)" ;; esac
run "$KFUSE" "$expression" --shape 6 --device "$device" --json
expect_json cached true
[ "$(json eager_kernels)" -gt 39 ] || fail "$(json eager_kernels) eager kernels"

# Behind a product, one kernel can do all of it.
npy w.npy f32 2x6 1 1 1 1 1 1 1 1 1 1 1 1
npy k.npy f32 1x2 2 1
product=$(printf '%s' "$expression" | sed 's/a0 + a2/k @ w + a0 + a2/')
tuned run "$product" $files k=k.npy w=w.npy -o out2.npy
case $(npy out2.npy) in 'f32 1x6 '*nan* | *inf*) fail "$(npy out2.npy)" ;; esac
run "$KFUSE" dump --groups "$product" --shape 6 --shape k=1x2 --shape w=2x6 --device cpu
expect_out 'fewest kernels: 1 kernel'

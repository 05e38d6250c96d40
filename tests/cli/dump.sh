# `kfuse dump` shows each stage; no device, compiler or store is needed for it.
expression='h = gelu(x + b); y = h * res; return y, h'
words='--shape 64x128 --shape b=128 --dtype bf16'
for stage in --ast --ir --plan --cuda --c; do
    run env -i PATH=/nowhere "$KFUSE" dump $stage "$expression" $words
    expect_status 0
    [ -n "$out" ] || fail "dump $stage prints nothing"
    first=$out
    run "$KFUSE" dump $stage "$expression" $words
    [ "$out" = "$first" ] || fail "dump $stage differs from run to run"
    refused 1 "did you mean 'gelu'?" dump $stage 'gleu(x)' --shape 4
done
[ ! -e cache ] || [ ! -s cache/kfuse.db ] || true

run "$KFUSE" dump --ir "$expression" $words
expect_out 'input bf16[64x128] x'
expect_out 'input bf16[128] b'
# --math fast says what it did, and shows it; the kernels compute that.
run "$KFUSE" dump --ir 'x/3 + x*y' --shape 4 --math fast
expect_out 'div f32[4]'
expect_out 'fast: 1 product contracted to fma, 1 division turned into a multiplication'
expect_out 'fma f32[4]'
run "$KFUSE" dump --cuda 'x/3 + x*y' --shape 4 --math fast
expect_out 'fmaf('
run "$KFUSE" dump --ir 'x - y' --shape 4 --math fast
expect_out 'fast: nothing in this program to change'

# Near forms are CUDA's, of 16-bit results, and not strict.
for math in default fast; do
    run "$KFUSE" dump --cuda 'silu(x)' --shape 64 --dtype bf16 --math $math
    expect_out ' = k_near_exp('
done
for words in '--cuda --dtype bf16 --math strict' '--cuda' '--c --dtype bf16'; do
    run "$KFUSE" dump 'silu(x)' --shape 64 $words
    expect_status 0
    case $out in *' = k_near_'*) fail "a near form: $words" ;; esac
done

run "$KFUSE" dump --cuda 'relu(x+res)' --shape 64x64 --point VEC=2,BLOCK=128
expect_status 0
expect_out '#define __VEC__ 2'
expect_out 'relu(x + res)'
refused 2 'VEC' dump --cuda 'relu(x+res)' --shape 64x64 --point VEC=3

# What is printed compiles as it is.
programs=(
    'relu(x + res)|--shape 64x64'
    'gelu(x + b) * m|--shape 64x128 --shape b=128 --dtype bf16 --dtype m=bool'
    'tanh(x) + x.T|--shape 33x33 --dtype f16'
    'n // 3 + i % 7|--shape 5x1 --shape i=7 --dtype i64'
    'x = x * 2 + 1|--shape 100 --dtype f64'
    'i8(round(x / s)) |--shape 16x16 --shape s=16x1'
    's = a + b; t = s * c; u = t > 0; return s, t, u|--shape 3x5x7 --shape b=5x1 --shape c=scalar'
    'float1 + threadIdx * blockIdx - n + i * float|--shape 4'
    'x + __global__ + int + kf_n + args + lane|--shape 4'
)
for program in "${programs[@]}"; do
    "$KFUSE" dump --c "${program%|*}" ${program#*|} >kernel.c || fail "dump --c ${program%|*}"
    run "$CC" -std=gnu11 -O1 -march=native -Wall -Werror -Wno-unused -Wno-psabi -fPIC -c kernel.c -o kernel.o
    [ "$status" = 0 ] || fail "dump --c ${program%|*} does not compile"
    "$KFUSE" dump --cuda "${program%|*}" ${program#*|} >kernel.cu || fail "dump --cuda ${program%|*}"
    command -v nvcc >/dev/null || continue
    run nvcc -arch=sm_90 --fmad=false -cubin kernel.cu -o kernel.cubin
    [ "$status" = 0 ] || fail "dump --cuda ${program%|*} does not compile"
done
command -v nvcc >/dev/null || echo "no nvcc here: CUDA text not compiled"

"$KFUSE" dump --ir 'x + 1' --shape 4 >expected.txt
run "$KFUSE" dump --ir 'x + 1' --shape 4 -o written.txt
expect_status 0
expect_no_out
cmp -s expected.txt written.txt || fail "-o wrote something else"
refused 4 "cannot write 'nowhere/x.txt'" dump --ir 'x + 1' --shape 4 -o nowhere/x.txt
refused 4 "cannot write '/dev/full'" dump --c 'x + 1' --shape 4 -o /dev/full

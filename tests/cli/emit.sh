# kfuse emit: what it writes compiles alone, tests itself, refuses what it was not made for, and is the same each time.
flags='-O2 -march=native -std=gnu11 -fno-math-errno -fno-trapping-math -ftree-vectorize -ffp-contract=off -w'
warnings='-std=c11 -D_GNU_SOURCE -O1 -Wall -Wextra -Werror'

# Emits C for these words into folder $1, compiles it, and runs its self-test.
c_is_right() {
    local name=$1
    shift
    run "$KFUSE" emit "$@" --device cpu --no-tune --name "$name" -o "$name"
    expect_status 0
    (
        cd "$name" || exit 1
        for kernel in "${name}"_kernel*.c; do cc $flags -c "$kernel" -o "${kernel%.c}.o" || exit 1; done
        cc $warnings -DKF_SELFTEST "$name.c" "${name}"_kernel*.o -lmvec -lm -lpthread -o selftest && ./selftest
    ) >.selftest 2>&1 || fail "$name: $(cat .selftest)"
    grep -q 'values of' .selftest || fail "$name: $(cat .selftest)"
}
if [ "$(uname -m)" = x86_64 ]; then
    c_is_right chain 'gelu(x + b) + res' --shape 100x333 --shape b=333
    expect_out 'the analytic default, not tuned'
    expect_out 'free: any extents'
    c_is_right halves 'silu(x) * y' --shape 5x7x9 --dtype bf16
    c_is_right rows 'layernorm(x, g, b)' --shape 17x1000 --shape g=1000 --shape b=1000 --dtype f16
    c_is_right columns 'sum(x, axis=0)' --shape 1000x33
    c_is_right scalar 'mean((x - y) ** 2, axis=all)' --shape 100x70
    c_is_right quantise 's = max(abs(x)) / 127; q = i8(x / s); return q, s' --shape 10x333
    c_is_right in_place 'x = x * 2 + y' --shape 1000
    c_is_right product 'gelu(x @ w + b)' --shape x=20x64 --shape w=64x96 --shape b=96
    c_is_right several 'layernorm(x @ w + r, g, c)' --shape x=20x64 --shape w=64x96 --shape r=20x96 --shape g=96 --shape c=96
    expect_out 'workspace'
    expect_out 'free: any extents'
    c_is_right strided 'x.T + y' --shape x=5x7 --shape y=7x5
    c_is_right number 'x / 3' --shape scalar --dtype f64
    c_is_right counted 'x / count(x)' --shape 5x7
    expect_out 'fixed: this one'
    c_is_right special 'param cpus = 1; param sms = 1; y = x * cpus; z = x + sms; return y, z' --shape 9 \
        --param cpus=-inf --param sms=nan
    c_is_right least 'param n = 1; x + n' --shape 9 --dtype i64 --param n=-9223372036854775808

    # Hundreds of sizes: a stride for each axis of each of 250 arrays.
    sum=a0 shapes=()
    for i in $(seq 250); do
        sum="$sum + a$i"
        shapes+=(--shape "a$i=$((i % 2 + 1))x$((i / 2 % 2 + 1))x$((i / 4 % 2 + 1))x$((i / 8 % 2 + 1))x2x$((i / 3 % 2 + 1))x2")
    done
    run "$KFUSE" emit "$sum" --shape 2x2x2x2x2x2x2 "${shapes[@]}" --device cpu --no-tune --name many -o many
    expect_status 0
    [ "$(grep -c '^    const int64_t kf_' many/many.c)" -gt 512 ] || fail "not so many sizes"
    cc $warnings -fsyntax-only many/many.c || fail "many.c"
    c_is_right broadcast 'x > 0 ? log(x) : m * sqrt(x)' --shape x=3x4x33 --shape m=4x1

    # The launcher refuses arrays that the kernel was not made for, with what is wrong.
    cat >calls.c <<'END'
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include "chain/chain.h"
static float x[4 * 8 + 1], b[8 + 1], res[4 * 8], out[4 * 8];
static KfView in[3], to;
static void reset(void) {
    in[0] = (KfView){x, KF_VIEW_F32, 2, {4, 8}, NULL};
    in[1] = (KfView){b, KF_VIEW_F32, 1, {8}, NULL};
    in[2] = (KfView){res, KF_VIEW_F32, 2, {4, 8}, NULL};
    to = (KfView){out, KF_VIEW_F32, 2, {4, 8}, NULL};
}
static void expect(int status, const char *what) {
    int got = chain_launch(in, &to, NULL, 0, 1);
    if (got != status) printf("%s: %s, not %s\n", what, chain_error(got), chain_error(status)), exit(1);
    reset();
}
int main(void) {
    int64_t turned[] = {1, 4}, packed[] = {8, 1}, any[] = {99, 1};
    reset();
    expect(KF_CALL_OK, "right arrays");
    in[0].type = KF_VIEW_F64;
    expect(KF_CALL_TYPE, "another type");
    in[1].rank = 2, in[1].dim[1] = 1;
    expect(KF_CALL_SHAPE, "another rank");
    in[2].dim[0] = 3;
    expect(KF_CALL_SHAPE, "extents that differ");
    to.dim[1] = -1;
    expect(KF_CALL_SHAPE, "a negative extent");
    in[0].strides = turned;
    expect(KF_CALL_STRIDES, "strides");
    in[0].strides = packed;
    expect(KF_CALL_OK, "row-major strides");
    in[0].dim[0] = in[2].dim[0] = to.dim[0] = 1, in[0].strides = any;
    expect(KF_CALL_OK, "the stride of one row");
    in[0].data = (char *)x + 1;
    expect(KF_CALL_ALIGNMENT, "half an element off");
    in[0].data = x + 1, in[1].data = b + 1;
    expect(KF_CALL_OK, "an element off");
    in[2].data = NULL;
    expect(KF_CALL_NULL, "no data");
    to.data = x + 2;
    expect(KF_CALL_OVERLAP, "an output over an input");
    to.data = x;
    expect(KF_CALL_OVERLAP, "an output in an input's place");
    in[0].dim[0] = in[2].dim[0] = to.dim[0] = 0;
    in[0].data = in[2].data = to.data = NULL;
    expect(KF_CALL_OK, "no rows");
    in[0].dim[0] = in[2].dim[0] = to.dim[0] = (int64_t)1 << 40;
    expect(KF_CALL_SIZE, "too many rows");
    in[0].dim[0] = in[2].dim[0] = to.dim[0] = (int64_t)1 << 31;
    in[0].dim[1] = in[1].dim[0] = in[2].dim[1] = to.dim[1] = (int64_t)1 << 33;
    expect(KF_CALL_SIZE, "2^64 elements");
    in[0].dim[0] = in[2].dim[0] = 1, in[0].dim[1] = in[1].dim[0] = in[2].dim[1] = INT64_MAX;
    if (chain_workspace(in, 1) >= 0) return puts("a workspace for 2^63 elements"), 1;
    reset();
    for (int i = 0; i < 3; i++) {
        static const int none[] = {0, -3, INT_MIN};
        int got = chain_launch(in, &to, NULL, 0, none[i]);
        if (got != KF_CALL_THREADS) return printf("%d threads: %s\n", none[i], chain_error(got)), 1;
        if (chain_workspace(in, none[i]) >= 0) return printf("a workspace for %d threads\n", none[i]), 1;
    }
    if (chain_launch(in, &to, NULL, 0, INT_MAX) != KF_CALL_OK) return puts("many threads"), 1;
    puts("all refused");
    return 0;
}
END
    cc $warnings -I. calls.c chain/chain.c chain/chain_kernel.o -lmvec -lm -lpthread -o calls || fail "calls.c"
    run ./calls
    expect_status 0
    expect_out 'all refused'

    # One header, used from C with the implementation in one place.
    run "$KFUSE" emit 'tanh(x) * y' --shape 64x64 --device cpu --no-tune --format header --name whole -o whole
    expect_status 0
    printf '#define whole_IMPLEMENTATION\n#include "whole/whole.h"\n' >whole.c
    cc $flags -DKF_SELFTEST whole.c -lmvec -lm -lpthread -o selftest || fail "whole.h"
    run ./selftest
    expect_status 0

    # Tuned points come from the store, for each size that was tuned; and each time with the same bytes.
    tuned 'x * y + 1' --shape 100x100
    tuned 'x * y + 1' --shape 1000x1000
    for folder in first second; do
        run "$KFUSE" emit 'x * y + 1' --shape 100x100 --device cpu --no-tune --name stored -o $folder
        expect_status 0
    done
    diff -r first second >/dev/null || fail "emitted twice: $(diff -r first second)"
    [ "$(printf '%s\n' "$out" | grep -c 'stored: tuned on cpu')" = 2 ] || fail "two sizes are stored"
    expect_out 'at 1000x1000'
    run "$KFUSE" emit 'x * y + 1' --shape 100x100 --device cpu --effort quick --quiet --name stored -o third
    expect_status 0
    expect_out 'tuned on'
fi

# CUDA needs no GPU here: the launcher compiles without any header of CUDA's, and says that there is no driver.
cuda() { run "$KFUSE" emit "$@" --no-tune; }
cuda 'softmax(x)' --shape 64x1000 --dtype f16 --arch sm_80,sm_90 --name soft -o soft
[ "$status" = 4 ] && { echo "no NVRTC here: CUDA is not emitted"; exit 0; }
expect_status 0
for file in soft.cu soft.h soft.c soft_binaries.h soft.sm_80.cubin soft.sm_90.cubin soft.ptx soft.json; do
    [ -s soft/$file ] || fail "no soft/$file"
done
grep -Erl "$(date +%Y)-|$PWD|$HOME/" soft --include='*.[ch]' --include='*.json' --include='*.cu' && fail "a date or path in a file"
cc $warnings -DKF_SELFTEST soft/soft.c -lm -o selftest || fail "soft.c"
if [ "$device" = cpu ] && [ ! -e /dev/nvidiactl ]; then
    run ./selftest
    expect_status 77
    expect_out 'no CUDA driver'
    run "$KFUSE" emit 'relu(x)' --shape 1000 -o untuned
    expect_status 0
    expect_err 'emitting without a device'
    expect_out 'kernel.cu'
fi
# Extents that 32-bit indices do not reach, of arrays or of what is computed in between; a name that a test has, too.
cuda 'sum(x * y, axis=all)' --shape x=8x1 --shape y=1x9 --arch sm_90 --name device -o device
expect_status 0
grep -q 'if (span(d\[0\]) \* span(d\[1\]) > 1073741824) return false;' device/device.c || fail "indices of 32 bits"
cc $warnings -DKF_SELFTEST device/device.c -lm -o selftest || fail "device.c"
printf '#include "soft/soft.h"\nint main() { return soft_error(0) == nullptr; }\n' >soft.cpp
command -v c++ >/dev/null && { c++ -Wall -Werror -I. -c soft.cpp -o soft.o || fail "soft.h in C++"; }
if command -v nvcc >/dev/null; then
    nvcc -fmad=false -cubin -arch=sm_90 soft/soft.cu -o soft.cubin || fail "nvcc refuses soft.cu"
fi
command -v python3 >/dev/null && { python3 -m json.tool soft/soft.json >/dev/null || fail "the manifest is no JSON"; }
cuda 'layernorm(gelu(x @ w + b) + res, g, c)' --shape 256x256 --shape b=256 --shape g=256 --shape c=256 --arch sm_90 --name mlp -o mlp
expect_status 0
expect_out 'workspace'
[ -s mlp/mlp_2.sm_90.cubin ] || fail "the second kernel has no cubin"
cuda 'relu(x)' --shape 1000 --point VEC=4,BLOCK=256 --name point -o point
expect_out 'VEC=4,BLOCK=256'
expect_out 'given'

# What has no clusters gets a point without.
cuda 'layernorm(x, g, b)' --shape 64x65536 --shape g=65536 --shape b=65536 --dtype bf16 --arch sm_80,sm_90 --name long -o long
[ "$(printf '%s\n' "$out" | grep sm_80 | grep -c 'CLUSTER=1,')" = 1 ] || fail "clusters on sm_80: $out"

refused 2 'needs one folder' emit 'relu(x)' --shape 8 --no-tune
refused 2 'letters, digits and _' emit 'relu(x)' --shape 8 --no-tune --name 'a b' -o none
refused 2 'letters, digits and _' emit 'relu(x)' --shape 8 --no-tune --name '../x' -o none
refused 2 '--arch takes' emit 'relu(x)' --shape 8 --no-tune --arch sm_80,sm_80 -o none
refused 2 '--arch takes' emit 'relu(x)' --shape 8 --no-tune --arch 90 -o none
refused 2 '--arch takes' emit 'relu(x)' --shape 8 --no-tune --arch sm_090 -o none
refused 2 'does not compile for sm_999' emit 'relu(x)' --shape 8 --no-tune --arch sm_999 -o none
refused 2 "--arch is CUDA's" emit 'relu(x)' --shape 8 --no-tune --arch sm_90 --device cpu -o none
refused 2 'knob' emit 'relu(x)' --shape 8 --point NONE=3 -o none
refused 2 'go with emit' 'relu(x)' --shape 8 --name x
refused 1 'gleu' emit 'gleu(x)' --shape 8 --no-tune -o none
refused 3 'nothing to emit' emit 'relu(x)' --shape 0x8 --no-tune -o none
touch file
refused 4 'cannot make the folder' emit 'relu(x)' --shape 8 --no-tune -o file/below

# `kfuse devices` says what there is, and what is missing with what to install; the null device is for tests alone.
run "$KFUSE" devices
expect_status 0
expect_no_err
printf '%s\n' "$out" | grep -q '^cpu ' || fail "no line for the cpu"
printf '%s\n' "$out" | grep -q '^cuda' || fail "no line for cuda"
case $out in *null*) fail "the null device is offered" ;; esac
run "$KFUSE" --help-all
case $out in *null*) fail "the null device is offered" ;; esac
refused 4 "unknown device 'quantum' (choices: cpu cuda" 'x + 1' --shape 4 --device quantum
case $err in *null*) fail "the null device is offered" ;; esac
refused 4 'cpu:0' 'x + 1' --shape 4 --device cpu:7
refused 4 'cpu:x' 'x + 1' --shape 4 --device cpu:x

# What KFUSE_CPU_ISA holds kernels to is part of what the device is: listed, and another key of the store.
if [ "$(uname -m)" = x86_64 ]; then
    for isa in x86-64 x86-64-v2; do
        run env KFUSE_CPU_ISA=$isa "$KFUSE" devices
        expect_status 0
        expect_out "(cpu, held to $isa, "
        for dtype in f32 bf16; do
            KFUSE_CPU_ISA=$isa tuned 'exp(x) + b' --shape 100 --dtype $dtype --device cpu
            expect_out "(cpu, held to $isa, "
            case $out in *"answered from the store"*) fail "$isa: another device's answer" ;; esac
        done
    done
    KFUSE_CPU_ISA=x86-64-v2 tuned 'exp(x) + b' --shape 100 --device cpu
    expect_out 'answered from the store'
    KFUSE_CPU_ISA=x86-64-v9 refused 4 "KFUSE_CPU_ISA='x86-64-v9' is none of" 'x + 1' --shape 4 --device cpu
    KFUSE_CPU_ISA=native refused 4 "KFUSE_CPU_ISA='native' is none of" 'x + 1' --shape 4 --device cpu
    run env KFUSE_CPU_ISA= "$KFUSE" devices
    case $out in *'held to'*) fail "held to nothing" ;; esac
else
    KFUSE_CPU_ISA=x86-64-v3 refused 4 'KFUSE_CPU_ISA is for x86-64' 'x + 1' --shape 4 --device cpu
fi

# Without a compiler: every line says what to install.
mkdir none
run env -u CC PATH=$TMP/none "$KFUSE" devices
expect_status 0
expect_out 'cpu     none: no C compiler: install gcc or clang'
run env -u CC PATH=$TMP/none "$KFUSE" 'x + 1' --shape 4 --device cpu
expect_status 4
expect_no_out
expect_err 'no C compiler: install gcc or clang'
CC=nowhere refused 4 "CC='nowhere' is not a program on PATH" 'x + 1' --shape 4 --device cpu
# A compiler that does not work is said as the reason.
printf '#!/bin/sh\n[ "$1" = --version ] && echo "clang version 14.0.6" && exit 0\necho "cc: out of licences" >&2\nexit 1\n' >none/cc
chmod +x none/cc
run env CC=$TMP/none/cc "$KFUSE" 'x + 1' --shape 4 --device cpu --quiet --trials 1
case $status in 3 | 4) ;; *) fail "exit $status with a compiler that fails" ;; esac
expect_no_out
expect_err 'out of licences'
expect_no_process
rm -r none

# Without a worker.
KFUSE_WORKER=$TMP/nowhere refused 4 'KFUSE_WORKER names' 'x + 1' --shape 4 --device cpu --quiet

if ! ls /dev/nvidia0 >/dev/null 2>&1; then
    refused 4 'install' 'x + 1' --shape 4 --device cuda
    refused 4 'install' 'x + 1' --shape 4 --device cuda:0
fi

# A driver that is too old is named as that, and is no GPU.
mkdir old
echo 'int cuInit(unsigned flags) { return (int)flags; }' >old/driver.c
"$CC" -shared -fPIC old/driver.c -o old/libcuda.so.1 || fail "the test is broken"
export LD_LIBRARY_PATH=$TMP/old
run "$KFUSE" devices
expect_status 0
expect_out 'the NVIDIA driver is too old'
refused 4 'the NVIDIA driver is too old' 'x + 1' --shape 4 --device cuda
run "$KFUSE" 'x + 1' --shape 4 --trials 1 --budget 4 --quiet
expect_status 0
expect_out '(cpu, '

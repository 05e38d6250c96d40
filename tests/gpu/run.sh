#!/usr/bin/env bash
# What needs a GPU, in one go, from a finished build: tests/gpu/run.sh [parts…] [> log]
#   tests      the unit programs that look for a GPU, and the command line's tests
#   sanitize   compute-sanitizer memcheck over those that inject no faults
#   near       near forms at every number of bf16 and f16, beside --math strict
#   programs   three expressions in f32 and bf16: time, roof, speed-up; examples/programs/ beside NumPy
#   templates  100 legal points of every hand-written kernel and type, through the whole gate
#   points     sensible points of generated kernels over rows, of reductions and of products with an epilogue
#   examples   each of examples/, at its full size, in a fresh store
#   launch     a launch through the library beside the driver's own calls, for two kernels
#   bench      beside cuBLAS, torch eager and torch.compile: tests/bench/bench.py, rows into $OUT/bench.json
#   emit       what kfuse emit writes, tuned here: its self-test, with each binary and by way of PTX
#   fleet      a list on all GPUs of the host, then in shards by GNU parallel where that is installed
#   large      arrays whose byte offsets need 64 bits
#   python     examples/python on torch tensors, beside torch eager
#   dependent  calls that begin before the one ahead has ended: dependent.py
#   start      wall time of a first run (new process, empty store), and of one that the store answers
# BUILD names the build folder (default build/release). Times are of this machine; they decide nothing here.
set -u
cd "$(dirname "$0")/../.."
build=${BUILD:-build/release}
export KFUSE=$PWD/$build/kfuse KFUSE_WORKER=$PWD/$build/kfuse-worker
store=$(mktemp -d)
trap 'rm -rf "$store"' EXIT
export KFUSE_CACHE=$store
parts=${*:-tests near dependent programs start launch sanitize}
failed=

part() { case " $parts " in *" $1 "*) return 0 ;; esac; return 1; }
title() { printf '\n== %s\n' "$*"; }
check() { title "$*"; "$@" || { failed="$failed [$*]"; echo "FAILED: $*"; }; }

wall() { # seconds of a command, its output thrown away
    local begin end
    begin=$(date +%s.%N)
    "$@" >/dev/null 2>&1 || echo "FAILED: $*"
    end=$(date +%s.%N)
    echo "$end $begin" | awk '{ printf "%.3f", $1 - $2 }'
}

title "$(nvidia-smi --query-gpu=name,driver_version,clocks.sm,temperature.gpu --format=csv,noheader)"
"$KFUSE" devices

if part start; then
    title "start: kfuse 'relu(x+res)' --shape 4096x4096"
    for i in 1 2 3; do
        rm -rf "$store"/*
        echo "first run, empty store: $(wall "$KFUSE" 'relu(x+res)' --shape 4096x4096) s"
        echo "answered from the store: $(wall "$KFUSE" 'relu(x+res)' --shape 4096x4096) s"
        echo "another shape of the bucket: $(wall "$KFUSE" 'relu(x+res)' --shape 4096x4000) s"
    done
fi

if part programs; then
    for dtype in f32 bf16; do
        title "programs, $dtype"
        "$KFUSE" 'relu(x+res)' --shape 4096x4096 --dtype $dtype --quiet
        "$KFUSE" 'gelu(x+b)+res' --shape 4096x4096 --shape b=4096 --dtype $dtype --quiet
        "$KFUSE" 'tanh(x*res+b)*sigmoid(x)+0.5*res' --shape 4096x4096 --shape b=4096 --dtype $dtype --quiet
    done
    check python3 tests/programs/check.py kernel --device cuda
fi

if part near; then check python3 tests/gpu/near.py; fi

# template FILE DTYPE: candidates may need too much of the device, not fail otherwise.
template() {
    local report
    report=$("$KFUSE" tune "$1" --shape 515x515 --dtype "$2" --effort full --strategy random --trials 100 --budget 60 --quiet --json) || return
    printf '%s\n' "$report" | grep -oE '"(candidates|right|failed)":(\{[^}]*\}|[^,]*)' | paste -sd' '
    printf '%s\n' "$report" | grep -qE '"failed":\{("infeasible":[0-9]+)?\}'
}
if part templates; then
    for file in registry/templates/*.cu; do
        grep -q '^//! computes' "$file" || continue
        for dtype in f32 f16 bf16; do check template "$file" $dtype; done
    done
fi

# points EXPRESSION SHAPES…: the same of a program's kernels at points that `prefer` allows, in three types. Of the
# others some are refused: one thread for a row of a thousand elements loses more digits than the gate lets pass.
points() {
    local expression=$1 dtype report
    shift
    for dtype in f32 f16 bf16; do
        report=$("$KFUSE" "$expression" "$@" --dtype $dtype --strategy random --trials 60 --budget 25 --retune --quiet --json) || return
        printf '%s %s ' "$dtype" "$(printf '%s\n' "$report" | grep -oE '"(candidates|right|failed)":(\{[^}]*\}|[^,]*)' | paste -sd' ')"
        printf '%s\n' "$report" | grep -qE '"failed":\{("infeasible":[0-9]+)?\}' || return
    done
    echo
}
if part points; then
    check points 'softmax(x * 0.125 + m)' --shape 515x1031
    check points 'x - max(x) - log(sum(exp(x - max(x))))' --shape 131x4096
    check points 'a = x / sqrt(sum(x * x)); b = softmax(a * 2); return b' --shape 131x4096
    check points 'h = x + r; return h, layernorm(h, g, b)' --shape 257x2048 --shape g=2048 --shape b=2048
    check points 's = max(abs(x)) / 127; q = i8(x / s); return q, s' --shape 1000x333
    check points 'sum(x * y, axis=0)' --shape 1025x515
    check points 'mean((x - y) * (x - y), axis=all)' --shape 515x1031
    check points 'gelu(x @ w + b) + r' --shape x=131x96 --shape w=96x200 --shape b=200 --shape r=131x200
    check points 'silu(x @ v) * (x @ w)' --shape x=131x96 --shape v=96x200 --shape w=96x200
    check points 'x.T + y' --shape x=516x1032 --shape y=1032x516 --effort full
    check points 'relu(x @ w.T)' --shape x=3x131x97 --shape w=3x65x97
fi

if part examples; then
    for example in examples/autotune_*.sh examples/fusegen_demo.sh; do check "$example"; done
    for path in examples/*.c; do
        name=$(basename "$path" .c)
        [ -x "$build/tests/example_$name" ] && check "$build/tests/example_$name"
    done
fi

if part launch; then
    check "$build/tests/bench_launch" cuda
    check "$build/tests/bench_launch" cuda "$(grep -v '^#' examples/programs/adamw.kf)" 1024
fi

if part bench; then
    BUILD=$build check python3 tests/bench/bench.py --out "${OUT:-$store}/bench.json"
fi

if part python; then BUILD=$build check python3 tests/gpu/python.py; fi

if part dependent; then BUILD=$build check python3 tests/gpu/dependent.py; fi

# emitted EXPRESSION SHAPES…: tuned, emitted, compiled by cc alone, and right; then with its PTX alone.
emitted() {
    local folder=$store/emitted
    rm -rf "$folder"
    "$KFUSE" emit "$@" --quiet --arch sm_80,sm_90 --name kernel -o "$folder" | grep -vE '^wrote' || return
    cc -std=c11 -D_GNU_SOURCE -O1 -DKF_SELFTEST "$folder/kernel.c" -lm -o "$folder/test" && "$folder/test" || return
    sed -i -E '/^    \{[0-9]+, [0-9]+, 0, binary/d' "$folder/kernel_binaries.h" # cubins are no longer listed
    cc -std=c11 -D_GNU_SOURCE -O1 -w -DKF_SELFTEST "$folder/kernel.c" -lm -o "$folder/test" && "$folder/test"
}
if part emit; then
    for dtype in f32 bf16 f16; do
        check emitted 'gelu(x + b) + res' --shape 1000x1001 --shape b=1001 --dtype $dtype
        check emitted 'relu(x + res)' --shape 1024x1024 --dtype $dtype
        check emitted 'softmax(x)' --shape 256x4096 --dtype $dtype
    done
    check emitted 'layernorm(x, g, b)' --shape 64x65536 --shape g=65536 --shape b=65536 --dtype bf16 # in clusters
    check emitted 'sum(x * y, axis=0)' --shape 1025x515
    check emitted 'mean(x, axis=all)' --shape 1024x1024
    check emitted 'gelu(x @ w + b)' --shape x=131x96 --shape w=96x200 --shape b=200
    check emitted 'layernorm(gelu(x @ w + b) + res, g, c)' --shape 256x256 --shape b=256 --shape g=256 --shape c=256
    check emitted 's = max(abs(x)) / 127; q = i8(x / s); return q, s' --shape 1000x333
    check emitted 'x = x * 2 + y' --shape 100000
    check emitted 'x.T + y' --shape x=500x700 --shape y=700x500
    check emitted examples/kernels/saxpy.cu --shape 1000003
fi

if part fleet; then
    check "$KFUSE" tune-all examples/fleet/list.txt --devices all
    command -v parallel >/dev/null && check examples/fleet/parallel.sh
fi

if part large; then
    check "$KFUSE" 'relu(x)' --shape 2147483656 --dtype f16 --effort quick --trials 3 --retune --quiet
    check "$KFUSE" 'x + b' --shape 65536x16392 --shape b=16392 --effort quick --trials 3 --retune --quiet
fi

# Those that measure or break contexts by themselves; then the rest at once, a process for each CPU, the long ones in
# shares (tests/unit/share.h); each one's log as a whole.
one() { # NAME SHARE/SHARES
    local begin=$SECONDS log=$store/log.$1.${2%/*}
    KF_TEST_DEVICE=cuda KF_TEST_SHARE=$2 "$build/tests/test_$1" >"$log" 2>&1 && echo "== $1 $2: $((SECONDS - begin)) s" >"$log.head" ||
        echo "== FAILED: $1 $2" >"$log.head"
}
if part tests; then
    for name in cuda bench; do KF_TEST_DEVICE=cuda check "$build/tests/test_$name"; done
    title "tests, $(nproc) at once"
    export -f one
    export store build
    begin=$SECONDS
    for name in reduce emit_rows points emit devices device_ops ops_values functions_cuda; do
        shares=1
        case $name in reduce | emit_rows | points) shares=8 ;; emit) shares=4 ;; esac
        for share in $(seq $shares); do echo "$name $share/$shares"; done
    done >"$store/jobs"
    xargs -P "$(nproc)" -L 1 bash -c 'one "$@"' one <"$store/jobs"
    while read -r name share; do
        log=$store/log.$name.${share%/*}
        cat "$log.head" "$log" || echo "== FAILED: $name $share did not run"
        grep -q '^== FAILED' "$log.head" && failed="$failed [$name $share]"
    done <"$store/jobs"
    echo "all of these: $((SECONDS - begin)) s"
fi

if part sanitize; then
    for name in points emit; do # cuda and bench inject faults
        [ -x "$build/tests/test_$name" ] || continue
        KF_TEST_DEVICE=cuda check compute-sanitizer --tool memcheck --error-exitcode 9 --print-limit 5 "$build/tests/test_$name"
    done
    check compute-sanitizer --tool memcheck --error-exitcode 9 --print-limit 5 --target-processes all \
        "$KFUSE" 'gelu(x+b)+res' --shape 1000x1003 --shape b=1003 --effort quick --retune --quiet
fi

title "${failed:+failed:}${failed:-all parts passed}"
[ -z "$failed" ]

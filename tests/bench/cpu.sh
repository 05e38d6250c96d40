#!/usr/bin/env bash
# Hand-written kernels on the CPU: the matrix product over OpenBLAS, one and two threads, and rows as fractions of what
# the memory streams, median of three runs: tests/bench/cpu.sh [DTYPE…]. Types are those of the rows; f32 is the default.
set -eu
cd "$(dirname "$0")/../.."
build=$(cd "${BUILD:-build/release}" && pwd)
store=$(mktemp -d)
trap 'rm -rf "$store"' EXIT
export KFUSE_CACHE=$store KFUSE_WORKER=$build/kfuse-worker

for threads in 1 2; do "$build/tests/bench_cpu_matmul" $threads 512 1024 2048; done

rows() { # dtype, then the line's words
    local dtype=$1
    shift
    for _ in 1 2 3; do "$build/kfuse" "$@" --dtype "$dtype" --device cpu --retune --quiet --json; done >"$store/runs"
    python3 - "$store/runs" <<'PY'
import json, statistics, sys
runs = [json.loads(line) for line in open(sys.argv[1])]
def median(key): return statistics.median([r[key] for r in runs if r[key]] or [0])
r = runs[0]
print(f"{r['expression']:22} {r['dtype']:5} {median('time_us'):9.1f} us  {median('gbps'):6.1f} GB/s  "
      f"roof {median('roof_fraction'):.2f}  eager {median('eager_us'):9.1f} us  {r['winner']}")
PY
}
for dtype in ${*:-f32}; do
    rows "$dtype" 'softmax(x)' --shape 4096x4096
    rows "$dtype" 'layernorm(x, g, b)' --shape 4096x4096 --shape g=4096 --shape b=4096
    rows "$dtype" 'rmsnorm(x, g)' --shape 4096x4096 --shape g=4096
    rows "$dtype" 'gelu(x)' --shape 4096x4096
    rows "$dtype" 'gelu(x + b)' --shape 4096x4096 --shape b=4096
done

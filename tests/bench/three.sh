#!/usr/bin/env bash
# Fused over eager for three expressions at 4096x4096, median of three runs: tests/bench/three.sh [DEVICE [DTYPE…]]
# Each run tunes anew; speed-up and roof fraction are ratios of one run. Needs python3 for the medians.
set -eu
cd "$(dirname "$0")/../.."
kfuse=${BUILD:-build/release}/kfuse
device=${1:-cpu}
shift || true
store=$(mktemp -d)
trap 'rm -rf "$store"' EXIT
export KFUSE_CACHE=$store

measure() { # dtype, then the line's words
    local dtype=$1
    shift
    for _ in 1 2 3; do "$kfuse" "$@" --dtype "$dtype" --device "$device" --retune --quiet --json; done >"$store/runs"
    python3 - "$store/runs" <<'PY'
import json, statistics, sys
runs = [json.loads(line) for line in open(sys.argv[1])]
def median(key): return statistics.median(r[key] or 0 for r in runs)
r = runs[0]
print(f"{r['expression']:45} {r['dtype']:5} {median('time_us'):9.1f} us  {median('gbps'):7.1f} GB/s  "
      f"roof {median('roof_fraction'):.2f}  eager {median('eager_us'):9.1f} us  speed-up {median('speedup'):.2f}x  "
      f"(single runs {', '.join('%.2f' % r['speedup'] for r in runs)})")
PY
}

"$kfuse" devices
for dtype in ${*:-f32}; do
    measure "$dtype" 'relu(x+res)' --shape 4096x4096
    measure "$dtype" 'gelu(x+b)+res' --shape 4096x4096 --shape b=4096
    measure "$dtype" 'tanh(x*res+b)*sigmoid(x)+0.5*res' --shape 4096x4096 --shape b=4096
done

# tests/bench/bench.py without torch: kfuse by the command line and by libkfuse, every op beside the oracle.
command -v python3 >/dev/null || skip "no python3"
bench() { run python3 "$SOURCE/tests/bench/bench.py" --check --types f32 --effort quick --trials 2 --budget 1 "$@"; }
bench --groups rows,matmul,elementwise --out rows.json
expect_status 0
for op in softmax layernorm rmsnorm matmul relu_add bias_gelu bias_gelu_add gelu silu_mul tanh_chain; do expect_out "$op "; done
for group in rows matmul elementwise; do expect_out "$group: best/kfuse"; done
[ "$(grep -c best_ratio rows.json)" = 10 ] || fail "not a row a cell in rows.json"

bench --groups programs --out programs.json
expect_status 0
expect_out ' 0 failed'
run python3 "$SOURCE/tests/bench/bench.py" --table programs.json
expect_status 0
expect_out '| op | shape | type |'
expect_out '| adamw | 5 | f32 |'
expect_out 'programs: eager/kfuse'
# Every program has a rival.
run env PYTHONPATH="$SOURCE/tests/bench" python3 -c 'from unittest.mock import MagicMock as torch; import cells, rivals
assert rivals.programs(torch()).keys() == cells.PROGRAMS.keys(), rivals.programs(torch()).keys() ^ cells.PROGRAMS.keys()'
expect_status 0
run python3 "$SOURCE/tests/bench/bench.py" --check --ops gleu
expect_status 2
expect_err "--ops has no 'gleu'"
for bad in "--slice 3/2" "--table none.json" "--shapes 3x3"; do
    run python3 "$SOURCE/tests/bench/bench.py" --check $bad
    expect_status 2
    expect_err "bench.py: error: "
done
run python3 "$SOURCE/tests/bench/growth.py" nonsense
expect_status 2
expect_err "there is no group 'nonsense'"

# A cell that fails is told, and is the exit status.
bench --groups matmul --point NONSENSE=1
expect_status 1
expect_out "FAILED matmul 9x10x11 f32"

# A launch beside a bare call.
run "$BUILD/tests/bench_launch" cpu
expect_status 0
expect_out 'kf_launch less a bare call'
run "$BUILD/tests/bench_launch" cpu 'x - max(x, axis=0)' 8x8
expect_status 1
expect_err 'the program is not one launch'

# The rivals on the CPU, as many as are there; NumPy at least.
python3 -c 'import numpy' 2>/dev/null || exit 0
run python3 "$SOURCE/tests/bench/cpu_rivals.py" --check --types f32 --ops 'tanh chain;softmax;sum(x, axis=0)' --threads 1 \
  --trials 2 --out cpu.json
expect_status 0
[ "$(grep -c best_ratio cpu.json)" = 3 ] || fail "not a row a cell in cpu.json"
run python3 "$SOURCE/tests/bench/cpu_rivals.py" --table cpu.json
expect_status 0
expect_out '| tanh chain | 7x13 | f32 | 1 thread |'
run python3 "$SOURCE/tests/bench/cpu_rivals.py" --ops gelu
expect_status 2
expect_err "--ops has no 'gelu'"
run python3 "$SOURCE/tests/bench/cpu_rivals.py" --threads 100000
expect_status 2
expect_err "CPUs"

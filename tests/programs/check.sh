# $PROGRAM of examples/programs/ beside NumPy, computed by the oracle or by kernels ($BY).
python3 -c 'import numpy' 2>/dev/null || skip "no python3 with numpy"
export KFUSE
run python3 "$SOURCE/tests/programs/check.py" "$BY" "$PROGRAM" --device "$device"
expect_status 0
printf '%s\n' "$out"

# Backward programs beside NumPy.
python3 -c 'import numpy' 2>/dev/null || skip "no python3 with numpy"
run python3 "$SOURCE/tests/programs/grad.py"
expect_status 0
printf '%s\n' "$out"

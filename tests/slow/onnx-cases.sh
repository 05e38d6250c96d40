# Every operator in chains, and ONNX's own cases for them, hundreds, by kernels in ONNX Runtime.
python3 -c 'import numpy, onnx, onnxruntime' 2>/dev/null || skip "no python3 with onnx and onnxruntime"
run python3 "$SOURCE/tests/onnx/compare.py" "$SOURCE/tests/onnx/operators.onnx" "$KFUSE" --no-tune
printf '%s\n' "$out"
expect_status 0
run python3 "$SOURCE/tests/onnx/cases.py" "$KFUSE"
printf '%s\n' "$out"
expect_status 0

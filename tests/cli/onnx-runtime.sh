# Models beside what kfuse made of them, in ONNX Runtime on the CPU.
python3 -c 'import numpy, onnx, onnxruntime' 2>/dev/null || skip "no python3 with onnx and onnxruntime"
compare() {
    run python3 "$SOURCE/tests/onnx/compare.py" "$SOURCE/tests/onnx/$1.onnx" "$KFUSE" "${@:2}"
    printf '%s\n' "$out"
    expect_status 0
}
compare transformer --dim batch=2 --effort quick --trials 2
for model in mobilenet half old paths; do compare $model --no-tune; done
compare shapes --dim n=3 --no-tune
compare products --products --no-tune

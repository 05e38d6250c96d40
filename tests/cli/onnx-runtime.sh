# Models beside what kfuse made of them, in ONNX Runtime on the CPU.
python3 -c 'import numpy, onnx, onnxruntime' 2>/dev/null || skip "no python3 with onnx and onnxruntime"
compare() {
    run python3 "$SOURCE/tests/onnx/compare.py" "$SOURCE/tests/onnx/$1.onnx" "$KFUSE" "${@:2}"
    printf '%s\n' "$out"
    expect_status 0
}
compare transformer --dim batch=2 --effort quick --trials 2
for model in mobilenet half old paths; do compare $model --no-tune; done
# Two that the package ships
light=$(python3 -c 'import os, onnx; print(os.path.dirname(onnx.__file__))')/backend/test/data/light
for model in resnet50 shufflenet; do
    [ ! -f "$light/light_$model.onnx" ] && continue
    run python3 "$SOURCE/tests/onnx/compare.py" "$light/light_$model.onnx" "$KFUSE" --no-tune
    printf '%s\n' "$out"
    expect_status 0
done
compare shapes --dim n=3 --no-tune
compare shapes --dim n=30000 --no-tune # on more than one thread
for past in 0 3; do compare cache --dim past=$past --no-tune; done
compare products --products --no-tune

# Models: regions, expressions, what is left and why; damaged models; kernels and a rewritten model as files.
models=$SOURCE/tests/onnx
# lists MODEL WORDS… : `kfuse onnx` ends well and says nothing on stderr
lists() {
    local model=$1
    shift
    run "$KFUSE" onnx "$models/$model.onnx" --device "$device" "$@"
    expect_status 0
    expect_no_err
}
lists transformer --dim batch=2
expect_out 'operator set 17, 34 nodes: 15 in 4 regions, 19 left'
expect_out 'r1   3 nodes: Mul Add Softmax'
expect_out 'weights = softmax(scores * 0.35355338 + mask)'
expect_out 'norm1 = layernorm(x + (o_MatMul + b_o), g1, c1, eps=1e-05)'
expect_out 't1 = up_MatMul + b_up; gelu_Mul_1 = t1 * (erf(t1 / 1.4142135) + 1) * 0.5'
expect_out 'the same kernel as r2'
expect_out 'moves  16.1 KiB in 1 kernel, node by node 48.1 KiB in 3: predicted 2.98x by bytes, 2 launches fewer'
expect_out '8 MatMul                 a product: --products takes it'
lists transformer --dim batch=3 --json
expect_json nodes 34
expect_out '"bytes":87232,"bytes_apart":320704,"kernels":4,"kernels_apart":15'
if python3 -c '' 2>/dev/null; then
    printf '%s\n' "$out" | python3 -c 'import json, sys; json.load(sys.stdin)' || fail 'no JSON'
fi
lists mobilenet
expect_out 'reads  expand_conv f32[2x24x14x14], expand_mean f32[24]'
expect_out 'pooled = mean(b); return b, pooled'
lists half
expect_out 'h = x * w + 0.25; y = f32(softmax(h)) - z; return h, y'
lists old
expect_out 'min(max(x, (-1)), 1)'
lists shapes --dim n=3
expect_out 'reads  x f32[3x4x6]'
expect_out 'it computes a shape, known beforehand'
# CumSum stands between: a and b are one region, d and y another; what others read leaves.
lists paths
expect_out 'a = exp(x); b = -a; return a, b'
expect_out 'd = a * c; y = tanh(d); return d, y'
lists operators
expect_out 'in 39 regions, 0 left'
# Without a past there is one step, and that can be computed.
lists cache --dim past=3
expect_out '4 in 2 regions, 1 left'
lists cache --dim past=0
expect_out '2 in 1 region, 3 left'
expect_out '1 Tanh                   an operand has no elements'

lists products
expect_out '2 in 1 region, 5 left'
if [ "$device" = cpu ]; then
    lists products --products
    expect_out '7 in 3 regions, 0 left'
    expect_out 'b = relu((x @ w.T) * 0.5 + c * 2)'
    expect_out 'z = sigmoid(t @ w3 + t)'
fi

# What is wrong is one line, and nothing on stdout.
wrong() {
    local status=$1 text=$2
    shift 2
    refused "$status" "$text" onnx "$@"
    [ "$(printf '%s\n' "$err" | wc -l)" = 1 ] || fail 'more than one line'
}
wrong 2 "give --dim 'batch=N'" "$models/transformer.onnx"
wrong 2 "it has no dimension 'seq'; to be given: 'batch'" "$models/transformer.onnx" --dim batch=2 --dim seq=3
wrong 2 "--dim takes NAME=SIZE, not 'batch=many'" "$models/transformer.onnx" --dim batch=many
wrong 2 "--dim takes NAME=SIZE, not 'batch=-1'" "$models/transformer.onnx" --dim batch=-1
for size in '' +4 ' 4' '4 ' 1.5 1e3 99999999999999999999; do
    wrong 2 "--dim takes NAME=SIZE, not 'batch=$size'" "$models/transformer.onnx" --dim "batch=$size"
done
wrong 2 'for one dimension' "$models/transformer.onnx" --dim batch=2 --dim batch=2
wrong 2 "with --dim 'batch=0' none of its results has an element" "$models/transformer.onnx" --dim batch=0
wrong 2 "it has no dimension 'n'; to be given: none" "$models/half.onnx" --dim n=2
wrong 1 'is larger than memory' "$models/transformer.onnx" --dim batch=9000000000000000000
wrong 1 'the graph has a cycle' "$models/wrong-cycle.onnx"
wrong 1 "reads 'nothing', which nothing makes" "$models/wrong-missing.onnx"
wrong 1 "makes 'y', which is made already" "$models/wrong-twice.onnx"
wrong 1 "nothing makes the output 'y'" "$models/wrong-output.onnx"
wrong 1 'its operator set is 99' "$models/wrong-opset.onnx"
wrong 1 'its IR version is 99' "$models/wrong-ir.onnx"
wrong 1 '2x3 and 4 do not broadcast' "$models/wrong-broadcast.onnx"
wrong 1 'is larger than memory' "$models/wrong-huge.onnx"
wrong 1 "constant 'b' has data of another length" "$models/wrong-data.onnx"
wrong 1 'cannot be read: No such file' none.onnx
wrong 1 'cannot be read: Is a directory' "$models"
: >empty.onnx
wrong 1 'the file is empty' empty.onnx
echo 'this is text' >text.onnx
wrong 1 'not an ONNX model' text.onnx
# A file that ends early, wherever.
size=$(wc -c <"$models/mobilenet.onnx")
for part in 1 2 3 5 8 13 21 34 55 89; do
    head -c $((size * part / 90)) "$models/mobilenet.onnx" >short.onnx
    run "$KFUSE" onnx short.onnx --device "$device"
    expect_status 1
    expect_no_out
done
# A graph in a node in a graph, 300 times
wrong 1 'messages nest too deep' "$models/wrong-deep.onnx"

# Usage
wrong 2 'onnx of which model?'
wrong 2 'one word too many' a.onnx b.onnx
wrong 2 '--rewrite needs -o FOLDER' "$models/half.onnx" --rewrite new.onnx
wrong 2 'onnx takes one -o' "$models/half.onnx" -o x=a
wrong 2 'for the CPU' "$models/half.onnx" --rewrite new.onnx -o kernels --device cuda
refused 2 '--dim, --products and --rewrite go with onnx' 'x * 2' --shape 4 --dim n=2
run "$KFUSE" onnx "$models/wrong-missing.onnx" -o kernels
expect_status 1
[ ! -e kernels ] || fail 'a folder for nothing'

# Kernels as files, and a model that calls them.
[ "$device" = cpu ] || exit 0
run "$KFUSE" onnx "$models/half.onnx" -o kernels --device cpu --effort quick --trials 2 --quiet
expect_status 0
expect_out 'r1   kernels/r1.c'
[ -s kernels/r1.json ] && [ -s kernels/r1.h ] || fail 'no r1'
run "$KFUSE" onnx "$models/transformer.onnx" --dim batch=2 --rewrite new.onnx -o ops --no-tune --quiet
expect_status 0
expect_no_err
expect_out 'model   new.onnx   24 nodes'
[ -s ops/libkfuse_ops.so ] && [ -s ops/r1.c ] && [ ! -e ops/r4.c ] || fail "$(ls ops)"
# What the runtime folds, and large products, stay with it.
run "$KFUSE" onnx "$models/mobilenet.onnx" --rewrite mobilenet.onnx -o ops --no-tune --quiet
expect_status 0
expect_out '4 in 1 region, 11 left'
expect_out '3 BatchNormalization     ONNX Runtime computes it in the Conv before it'
run "$KFUSE" onnx "$models/products.onnx" --products --rewrite products.onnx -o ops --no-tune --quiet
expect_status 0
expect_out '1 Relu                   ONNX Runtime computes it in the product before it'
run "$KFUSE" onnx "$models/transformer.onnx" --dim batch=3 --products --rewrite large.onnx -o ops --no-tune --quiet
expect_status 0
expect_out '6 MatMul                 a product that ONNX Runtime computes faster'
run "$KFUSE" onnx new.onnx
expect_status 0
expect_out '2 ai.kfuse::r2'
expect_out '0 in 0 regions'
run "$KFUSE" onnx new.onnx --products --rewrite again.onnx -o again --device cpu
expect_status 1
expect_err 'it has operators of ai.kfuse already'
run "$KFUSE" onnx new.onnx -o none
expect_status 3
expect_err 'no region, nothing to write'
run "$KFUSE" onnx "$models/half.onnx" --rewrite missing/new.onnx -o none --quiet
expect_status 4
expect_err "cannot write 'missing/new.onnx'"
[ ! -e none ] || fail 'tuned for nothing'
# Nodes without the operands that they should have
run "$KFUSE" onnx "$models/wrong-operands.onnx" --products --rewrite none.onnx -o none
expect_status 3
expect_err 'no region, nothing to write'
# A region whose kernels are all wrong stays as it is.
run env KFUSE_FAULT='wrong@*' "$KFUSE" onnx "$models/old.onnx" --rewrite wrong.onnx -o wrong --effort quick --trials 2 --quiet
expect_status 3
expect_err 'r1: its nodes stay as they are'
[ ! -e wrong.onnx ] || fail 'a model for nothing'
run env CC=/nonexistent/cc "$KFUSE" onnx "$models/old.onnx" --rewrite old.onnx -o ops2 --no-tune --quiet --device cpu
[ "$status" = 4 ] && [ ! -e old.onnx ] || fail "exit $status"

# A program that cannot be one kernel becomes the fewest, which are judged and timed together; other ways to cut it
# race. `dump --groups` shows them all, with what each kernel reads and writes.
device=cpu
shapes="--shape x=40x30 --shape w=30x20"

run "$KFUSE" dump --groups 'softmax(relu(x) @ w)' $shapes --device cpu
expect_status 0
expect_out 'fewest kernels: 3 kernels'
expect_out 'reads  temporary 1 f32[40x30], w f32[30x20]'
expect_out 'workspace of 2 temporaries'
expect_out 'a kernel for each reduction: 5 kernels'

# One kernel where one can compute it, however many outputs; what an output holds is not kept twice.
run "$KFUSE" dump --groups 's = max(abs(x)) / 127; q = i8(x / s); return q, s' --shape 40x30 --device cpu
expect_out 'fewest kernels: 1 kernel'
expect_out "saves "
run "$KFUSE" dump --groups 'h = x * 2; return h, h @ w' $shapes --device cpu
expect_out 'h f32[40x30]'
case $out in *temporar*) fail "h is kept twice" ;; esac

# What it computes, whichever way wins, is what NumPy's order of operations gives.
npy x.npy f32 2x2 1 -2 3 4
npy w.npy f32 2x2 1 0 0 2
tuned run 'h = relu(x) @ w; return h, h - max(h), sum(h, axis=0)' x=x.npy w=w.npy -o h=h.npy -o out2=d.npy -o out3=s.npy
[ "$(npy h.npy)" = 'f32 2x2 1 0 3 8' ] || fail "h: $(npy h.npy)"
[ "$(npy d.npy)" = 'f32 2x2 0 -1 -5 0' ] || fail "h - max(h): $(npy d.npy)"
[ "$(npy s.npy)" = 'f32 1x2 4 8' ] || fail "sum(h): $(npy s.npy)"

# The store answers for all kernels together; another number for a param compiles nothing.
program='param a = 2; h = relu(x * a); return h @ w'
tuned "$program" $shapes --json
expect_json kernels 2
tuned "$program" $shapes --json
expect_json cached true
expect_json kernels 2
tuned "$program" $shapes --param a=3 --json
expect_json compiled 0

# A point for each kernel, as the report names the winner, chooses the way with as many; no other number does.
winner='BLOCK=4096 UNROLL=1 | matmul:MR=6,NV=2'
tuned 'relu(x) @ w' $shapes --point "$winner"
expect_out 'winner     BLOCK=4096 UNROLL=1 '
expect_out '| matmul:MR=6 NV=2 '
refused 2 "the program is 2 kernels, and there is 1 point: give 'A | B'" 'relu(x) @ w' $shapes --point BLOCK=4096 --device cpu
refused 2 "no knob is called 'VEC'" 'relu(x) @ w' $shapes --point 'BLOCK=4096 | matmul:VEC=4' --device cpu
refused 2 'and there is 1 point' dump --c 'relu(x) @ w' $shapes --point BLOCK=4096
run "$KFUSE" dump --c 'relu(x) @ w' $shapes --point "$winner"
expect_out '#define __MR__ 6'

# What the report calls the program's type is its outputs', whatever lies between.
tuned 'i8(softmax(x @ w) * 100)' $shapes --json
expect_json dtype '"i8"'

run "$KFUSE" dump --groups 'x + 1' --shape 0 --device cpu
expect_out 'no kernel: no output has elements'

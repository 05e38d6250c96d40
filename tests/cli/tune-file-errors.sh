# What is wrong with a kernel of the user's own is said at its line; nothing is left behind.
cp "$SOURCE"/tests/templates/* .
bad() { sed "$1" scale.c >bad.c; }

# The header.
refused 1 'plain.c:1:1: error: no header: kernel, output, args and launch lines are missing' tune plain.c --shape 4
expect_err '    //! kernel   scale'
bad 's/knob /konb /'
refused 1 "bad.c:6:5: error: " tune bad.c --shape 4
bad 's/args     x y n/args     x y m/'
refused 1 "bad.c:5:18: error: 'm' is no tensor, size or param of this template" tune bad.c --shape 4
bad '/output/d'
refused 1 "the header has no 'output' line" tune bad.c --shape 4
sed 's/args     a x/args     x/' saxpy.c >bad.c # the value of one run would be stored for all
refused 1 "bad.c:6:5: error: the param 'a' is not passed" tune bad.c --shape 4 --param a=3
sed '1,8s/\ba\b/n/g' saxpy.c >bad.c
refused 1 "the param 'n' is called like a size" tune bad.c --shape 4
for name in cpus sms bytes_x workspace; do
    bad "1,8s/\bn\b/$name/g"
    refused 1 "bad.c:3:16: error: a size cannot be called '$name'" tune bad.c --shape 4
done
bad 's/void KF_ENTRY(scale)/void KF_ENTRY(scales)/'
refused 1 "bad.c has no 'scale' to launch" tune bad.c --shape 4
refused 1 "<options>:1:12: error: 'z' is no tensor" tune scale.c --shape 4 --args 'x y n z'
refused 1 "<options>:2:9: error: " tune scale.c --shape 4 --prefer 'n > 1' --require 'STEPS > 1'
refused 1 '<options>:1:10: error: unexpected end' tune scale.c --shape 4 --workspace ''

# Knobs where no macro reaches.
bad 's/const T_x \*x/float__STEP__ *x/'
refused 1 '__STEP__ is not replaced inside a longer word' tune bad.c --shape 4
expect_err '^~~~~~~~~~~~~ paste: KF_CAT(..., __STEP__)'
bad 's/    const int64_t n/    __asm__("nop __STEP__");\n&/'
refused 1 '__STEP__ is not replaced inside a string of asm' tune bad.c --shape 4
expect_err 'quote: "..." KF_STR(__STEP__) "..."'

# Shapes and types.
refused 1 "scale.c:3:14: error: nothing says what shape 'x' has" tune scale.c
expect_err '--shape x=...'
refused 1 "the template has no input 'y' (its inputs are x)" tune scale.c --shape y=4
refused 1 "'rows' is 4 by 'x', but 5 by 'w'" tune rows.c --shape x=4x8 --shape w=5x1
refused 1 "'x' is bf16 here, its line says f32 f64" tune scale.c --shape 4 --dtype bf16
refused 1 "'y' is f64 here, its line says like x" tune saxpy.c --shape 4 --dtype y=f64
bad 's/\[n\] : like/[2] : like/'
refused 1 "'y' has 4 where its line says 2" tune bad.c --shape 4
bad 's/y = x \* 2/y = 2/'
refused 1 "what the template computes does not read 'x'" tune bad.c --shape 4
refused 1 "--param names 'b'" tune saxpy.c --shape 4 --param b=1

# No point.
refused 3 "<options>:1:9: error: no point satisfies this" tune scale.c --shape 100 --require 'n % __STEP__ == 0'
expect_err '^~~~~~~~~~~~~~~~~ n is 100'
refused 3 "no point satisfies this and the others" tune scale.c --shape 100 --require 'STEP < 2000' --require 'STEP > 2000'
[ "$(printf '%s\n' "$err" | grep -c 'and the others')" = 3 ] || fail 'not all of them are named'

# What the compiler says, at the file's line.
bad 's/y\[i\] = x\[i\]/y[i] = z[i]/'
refused 3 "bad.c compiles in no variant; scale:STEP=1024:
bad.c:18:" tune bad.c --shape 4 --quiet
expect_err "'z' undeclared"

# What the gate says.
bad 's/i = at; i < n/i = at; i <= n/'
refused 3 'gave a wrong result: ' tune bad.c --shape 1000 --quiet
bad 's/i = at; i < n/i = at; i < n - (n == 1000)/'
refused 3 'gave a wrong result: y[999] is ' tune bad.c --shape 1000 --quiet
bad 's/i = at;/i = at + 1;/'
refused 3 'gave a wrong result: ' tune bad.c --shape 1000 --quiet
bad 's/i < n && //'
refused 3 'crashed: its process was killed by signal 11' tune bad.c --shape 1000 --quiet
sed 's/c < cols;/c < cols - (cols > 512);/' rows.c >bad.c
refused 3 'gave a wrong result: ' tune bad.c --shape x=100x300 --quiet
sed 's/p < __PARTS__/p < __PARTS__ - 1/' rows.c >bad.c
refused 3 'gave a wrong result: ' tune bad.c --shape x=100x300 --quiet

# References.
npy x.npy f32 3 1 2 3
npy y.npy f32 3 2 4 6
npy z.npy f32 4 2 4 6 8
grep -v computes scale.c >silent.c
refused 1 "nothing says what 'y' should be: silent.c has no computes line" tune silent.c x=x.npy
refused 1 "a reference says nothing about generated data: 'x' has none" tune silent.c --shape 3 --reference y=y.npy
refused 1 "'n' is 3 by 'x', but 4 by 'y'" tune silent.c x=x.npy --reference y=z.npy
refused 1 "the template has no output 'z'" tune silent.c x=x.npy --reference z=y.npy
refused 2 "scale.c says what it computes" tune scale.c x=x.npy --reference y=y.npy
refused 2 '--reference takes NAME=FILE' tune silent.c x=x.npy --reference y.npy
refused 1 'nowhere.npy' tune silent.c x=x.npy --reference y=nowhere.npy
refused 2 '--rtol takes a number' tune silent.c --rtol -1

# The command.
refused 2 "tune takes FILE.cu or FILE.c, not 'relu(x)'" tune 'relu(x)' --shape 4
refused 2 'tune which file?' tune
refused 1 "cannot open 'nowhere.c'" tune nowhere.c
refused 2 'go with kfuse tune FILE' 'x * 2' --shape 4 --knob '__A__ 1'

# CUDA: header errors come first, then what is missing here.
refused 2 'cpu runs no CUDA, which scale.cu is' tune scale.cu --shape 4 --device cpu
sed 's/extern "C" //' scale.cu >bad.cu
refused 1 "'scale' has a C++ name, which no launch finds" tune bad.cu --shape 4
run "$KFUSE" tune scale.cu --shape 4 --trials 1 --budget 20 --quiet
[ "$status" = 0 ] || { expect_status 4; expect_no_out; expect_err 'kfuse: '; }

# One element read behind a tensor, whatever its size: no guard shows a read, so the last edge's tensors end at a fence.
sed 's/\(for (int64_t i = at.*\)/\1\n    if (part == 0) *(volatile float *)\&out[0] += 0 * x[n];/' "$SOURCE/tests/templates/saxpy.c" >over.c
grep -q 'x\[n\]' over.c || fail "the mutant was not made"
run "$KFUSE" tune over.c --shape 1000 --quiet
expect_status 3
expect_err 'crashed'

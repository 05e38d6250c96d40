# A kernel of the user's own: kfuse tune FILE.
templates=$SOURCE/tests/templates
own() { run "$KFUSE" tune "$@" --budget 20 --quiet; }
owned() { own "$@"; [ "$status" = 0 ] || fail "exit $status: kfuse tune $*"; }

# By the header in the file; the device follows the ending.
cp "$templates"/*.c "$templates"/*.cu .
owned scale.c --shape 1000
expect_out 'y = x * 2'
expect_out 'winner     scale:STEP='
expect_out 'edge cases too'
expect_out 'eager '
expect_out 'use it     kfuse tune scale.c x=x.npy -o y.npy'
owned scale.c --shape 1000 --json
expect_json cached true
expect_json kernel '"scale"'
owned scale.c --shape x=10x100 --dtype f64 --point STEP=4096 --json
expect_json winner '{"STEP":4096}'
expect_json shape '[10,100]'
expect_json dtype '"f64"'
printf '\357\273\277' | cat - scale.c >marked.c # as some editors begin a file
owned marked.c --shape 1000 --trials 1

# On files, as the report says; params.
npy x.npy f32 2x3 1 2 3 4 5 6
npy y.npy f32 2x3 10 20 30 40 50 60
owned scale.c x=x.npy -o out.npy
expect_npy out.npy 'f32 2x3 2 4 6 8 10 12'
owned saxpy.c x=x.npy y=y.npy --param a=3 -o out.npy
expect_npy out.npy 'f32 2x3 13 26 39 52 65 78'
owned saxpy.c x=x.npy --shape y=2x3 --param a=3 # judged on x.npy, and data of its own for y
expect_out 'use it     kfuse tune saxpy.c x=x.npy y=y.npy -o out.npy --param a=3'

# A tensor of the same dimensions has the same shape, however many of them lead.
owned saxpy.c --shape 13x7x11 --json
expect_json shape '[13,7,11]'
owned saxpy.c --shape y=13x7 --json
expect_json shape '[13,7]'

# Two launches and a workspace; the shape of w follows from x's.
owned rows.c --shape x=100x300
expect_out '2 inputs, 1 output'
npy w.npy f32 2x1 1 2
owned rows.c x=x.npy w=w.npy -o out.npy
expect_npy out.npy 'f32 2x1 6 30'

# The header's lines as options, in place of the file's or beside them.
header=(--kernel twice --input 'x[n] : f32' --output 'y[n] : like x' --args 'x y n' --launch 'block = cpus')
owned plain.c "${header[@]}" --computes 'y = 2 * x' --knob '__STEP__ 64 1024' --shape 1000
expect_out "use it     kfuse tune plain.c --kernel twice --input"
owned scale.c --shape 1000 --knob '__STEP__ 64' --json
expect_json winner '{"STEP":64}'
owned scale.c --shape 1000 --require '__STEP__ > 2000' --json
expect_json candidates 1
owned scale.c --shape 1000 --prefer '__STEP__ > 2000' --knob '__STEP__ 4096 1024' --json
expect_json candidates 1
owned scale.c --shape 1000 --verify-bucket
expect_out 'bucket     '
owned scale.c --shape 1000 --launch 'block = 1' --computes 'y = x + x' --args 'x y n' --json
expect_json expression '"y = x + x"'

# A reference instead of a formula: the kernel is judged on the files.
npy twice.npy f32 2x3 2 4 6 8 10 12
silent() { owned plain.c "${header[@]}" --knob '__STEP__ 64' "$@"; }
silent x=x.npy --reference y=twice.npy
expect_out 'right      all 6 elements, worst 0 ulp'
expect_out 'compared with twice.npy (rtol 1.3e-06, atol 1e-05), no edge cases'
own plain.c "${header[@]}" --knob '__STEP__ 64' x=x.npy --reference y=twice.npy --verify-bucket
expect_status 2
expect_err 'a reference is of one shape'
silent x=x.npy --reference y=twice.npy --json
expect_json cached true
expect_json reference '"twice.npy (rtol 1.3e-06, atol 1e-05)"'
npy twice.npy f32 2x3 2 4 6 8 10 12.001
own plain.c "${header[@]}" --knob '__STEP__ 64' x=x.npy --reference y=twice.npy # other data: not answered
expect_status 3
expect_err 'y[1, 2] is 12, expected 12.00097'
silent x=x.npy --reference y=twice.npy --rtol 1e-3
expect_out '(rtol 0.001, atol 0)'
silent x=x.npy --reference y=twice.npy --atol 0.1 -o out.npy
expect_npy out.npy 'f32 2x3 2 4 6 8 10 12'

# An edited file is a miss.
owned scale.c --shape 500
sed -i 's/x\[i\] \* 2/x[i] + x[i]/' scale.c
owned scale.c --shape 500 --json
expect_json cached false
expect_no_process

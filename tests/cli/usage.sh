# Options: a bad one is named with the nearest or with the choices, exit 2.
refused 2 "kfuse 'relu(x+res)' --shape 4096x4096"
refused 2 "unknown option '--shap'; did you mean '--shape'?" 'x' --shap 4
refused 2 "unknown option '--frobnicate'" 'x' --frobnicate
refused 2 '--shape takes a value' 'x' --shape
refused 2 'quick' 'x' --shape 4 --effort slow
refused 2 'strict' 'x' --shape 4 --math wild
refused 2 '--trials' 'x' --shape 4 --trials 0
refused 2 '--trials' 'x' --shape 4 --trials many
refused 2 '--trials' 'x' --shape 4 --trials 99999999999999999999
refused 2 '--budget' 'x' --shape 4 --budget -1
refused 2 '--budget' 'x' --shape 4 --budget nan
refused 2 '--jobs' 'x' --shape 4 --jobs 0
refused 2 '--seed' 'x' --shape 4 --seed x
refused 2 '--param' 'x' --shape 4 --param eps
refused 2 '--json takes no value' 'x' --shape 4 --json=1
refused 2 'one word too many' relu '(x)' --shape 4
refused 2 'one word too many' devices now
refused 2 'dump what?' dump 'x' --shape 4
refused 2 'cache ls | show KEY | clear | path' cache
refused 2 'cache ls | show KEY | clear | path' cache frobnicate
refused 2 'cache ls | show KEY | clear | path' cache show
refused 2 'NAME=FILE.npy' run 'x' x.npy -o y.npy
refused 2 'grid' 'x + 1' --shape 4 --strategy clever --device cpu
refused 2 'BLOCK' 'x + 1' --shape 4 --point SPEED=9 --device cpu
refused 2 'BLOCK' 'x + 1' --shape 4 --point BLOCK=5 --device cpu
refused 1 'eps' 'param eps = 1; x + eps' --shape 4 --param epsilon=2
refused 1 'is no number' 'param eps = 1; x + eps' --shape 4 --param eps=two

# --shape=4 is --shape 4; an expression may begin with '-'; after -- everything is a word.
run "$KFUSE" dump --ast '-x*2' --shape=4
expect_status 0
run "$KFUSE" dump --ast --shape 4 -- '-x'
expect_status 0
# An option's value is the next word, whatever it begins with.
refused 1 '-f' -f -f --shape 4

for option in --help --help-all --version; do
    run "$KFUSE" "$option"
    expect_status 0
    expect_no_err
    [ -n "$out" ] || fail "$option prints nothing"
done
run "$KFUSE" --help
expect_out 'exit: 0 done, 1 input wrong, 2 usage, 3 no working kernel, 4 environment, 130 interrupted'
[ "$(printf '%s\n' "$out" | wc -l)" -le 24 ] || fail "the short page does not fit a terminal"
refused 2 'one and the same' 'x' --shape x=4 --shape x=5
refused 2 'one and the same' 'x' --shape 4 --shape 5
refused 2 'one stage at a time' dump --cuda --c 'x' --shape 4
refused 2 'cache ls | show KEY | clear | path' cache ls extra
npy x.npy f32 4 1 2 3 4
refused 4 'No such file or directory' run 'x' x=x.npy -o missing/out.npy

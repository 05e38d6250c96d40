# `kfuse warm FILE`: every line's kernel is in the store afterwards; what is wrong with a line is told with its
# number, the others go on, and the exit status is the first failure's.
cat >list.txt <<'END'
# a comment, then a blank line

'relu(x + y)' --shape 64x33
gelu(x) --shape 40 --dtype "bf16"   # types and shapes are the line's own
END
run "$KFUSE" warm list.txt --device null --trials 2 --quiet
expect_status 0
expect_out "relu(x + y) 64x33 f32"
expect_out "gelu(x) 40 bf16"
[ "$(printf '%s\n' "$out" | grep -c tuned)" = 2 ] || fail "two lines were to be tuned"

run "$KFUSE" warm list.txt --device null --trials 2 --quiet
expect_status 0
[ "$(printf '%s\n' "$out" | grep -c 'was stored')" = 2 ] || fail "both were to be found in the store"

printf "'relu(x' --shape 4\nrelu(x) --shape 6\nrelu(x) --nonsense\ncache clear\n" >bad.txt
run "$KFUSE" warm bad.txt --device null --trials 2 --quiet
expect_status 1
expect_out "relu(x) 6 f32"
expect_err "bad.txt:1: not warmed"
expect_err "bad.txt:3: unknown option '--nonsense'"
expect_err "bad.txt:4: a line is an expression with its options"

printf '\357\273\277# a list\nrelu(x) --shape 6\n' >marked.txt # as some editors begin a file
run "$KFUSE" warm marked.txt --device null --trials 2 --quiet
expect_status 0

refused 1 "cannot read 'nowhere.txt'" warm nowhere.txt
mkdir folder
refused 1 "cannot read 'folder': Is a directory" warm folder
refused 2 "warm which file?" warm
refused 2 "one word too many" warm list.txt bad.txt

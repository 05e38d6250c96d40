# --verify-bucket: the smallest and the largest shape of the bucket are searched too; a shape that is an end
# itself has one other end; where axes are counted together the outermost makes up for it.
run "$KFUSE" 'gelu(x + b)' --shape x=500x1000 --shape b=1000 --device null --quiet --trials 8 --verify-bucket
expect_status 0
expect_out "bucket     257x513: "
expect_out "bucket     512x1024: "

run "$KFUSE" 'relu(x)' --shape 1000x1000 --device null --quiet --trials 8 --verify-bucket
expect_status 0
expect_out "bucket     525x1000: "
expect_out "bucket     1024x1024: "

run "$KFUSE" 'relu(x)' --shape 1024 --device null --quiet --trials 8 --verify-bucket --json
expect_status 0
expect_out '{"shape":"513",'
[ "$(printf '%s\n' "$out" | grep -c '"ratio"')" = 1 ] || fail "1024 is an end itself"

run "$KFUSE" 'a = x + 1; b = y + 1; return a, b' --shape x=8 --shape y=4 --device null --quiet --verify-bucket
expect_status 2
expect_err "this program has another number"

# An end is searched, whatever point the kernel has.
for how in --no-tune '--point BLOCK=4096,UNROLL=1,STREAM=0,THREADS=1'; do
    run "$KFUSE" 'tanh(x)' --shape 1000x1000 --device null --retune --quiet $how --verify-bucket --json
    expect_status 0
    [ "$(printf '%s\n' "$out" | grep '"ratio"' | grep -vc '"ratio":1.0000,')" = 2 ] || fail "$how: nothing was searched"
done

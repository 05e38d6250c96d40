# PaddlePaddle #78245, FlagGems #5298: nothing to compute becomes a grid of no blocks and an error at a later call.
for words in '--shape 0' '--shape 300x0' '--shape 0x1 --shape y=1x7' '--shape 0x3 --shape y=3'; do
    run "$KFUSE" 'x + y' $words --device "$device" --json
    expect_status 0
    expect_json candidates 0
    expect_json compiled 0
    expect_json time_us null
    expect_json gbps null
    expect_json speedup null
    run "$KFUSE" 'x + y' $words --device "$device"
    expect_status 0
    case $out in *nan* | *inf\ * | *-nan*) fail "a figure from nothing" ;; esac
done
run "$KFUSE" cache ls
expect_no_out

# An output without elements beside others: none of its elements is computed, all of theirs are.
npy x.npy f32 3 1 2 3
npy e.npy f32 0x3 0
npy b.npy f32 2 5 6
for program in 'y = x * 2; w = e + x' 'w = e + x; y = x * 2'; do
    tuned run "$program" x=x.npy e=e.npy -o y=y.npy -o w=w.npy
    expect_npy y.npy 'f32 3 2 4 6'
    expect_npy w.npy 'f32 0x3'
done
tuned run 'w = e + x; y = x * 2; z = b + 1' x=x.npy e=e.npy b=b.npy -o y=y.npy -o w=w.npy -o z=z.npy
expect_npy y.npy 'f32 3 2 4 6'
expect_npy z.npy 'f32 2 6 7'

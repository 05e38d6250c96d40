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

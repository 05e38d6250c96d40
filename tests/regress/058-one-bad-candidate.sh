# pytorch #95542, helion #2372: one candidate that crashes takes the rest with it; the reason is lost.
problem='x * y + 1'
some=UNROLL=2
[ "$device" = cpu ] || some=BLOCK=512
words="--shape 64x64 --device $device --effort quick --trials 6 --budget 60 --quiet"
for kind in crash wrong; do
    run env KFUSE_FAULT="$kind@$some" "$KFUSE" "$problem" $words --retune --json
    expect_status 0
    case $(json failed) in *"\"$kind\":"*) ;; *) fail "failed is $(json failed)" ;; esac
    case $(json winner) in *"\"${some%=*}\":${some#*=}"[,}]*) fail "a candidate that fails wins" ;; esac
    expect_no_process
done
# Once is no verdict: it is tried again in a fresh worker.
run env KFUSE_FAULT="crash-once@$some" "$KFUSE" "$problem" $words --retune --json
expect_status 0
expect_json failed '{}'
# All fail: exit 3, with the first reason.
for kind in crash wrong; do
    run env KFUSE_FAULT="$kind@*" "$KFUSE" "$problem" $words --retune
    expect_status 3
    expect_no_out
    expect_err 'candidates is right'
    [ "$(printf '%s\n' "$err" | wc -l)" = 1 ] || fail "more than one line"
    expect_no_process
done
# What failed is known the next time, and is not tried again.
run "$KFUSE" "$problem" $words --json
expect_status 0

# $EXAMPLE, small, on the device that the tests run on.
run "$EXAMPLE" "$device" small
expect_status 0
expect_no_err
expect_out winner
case $out in *nan*) fail "a figure from nothing" ;; esac
case $EXAMPLE in *tune_demo) # the same again, a near shape, the file again
    [ "$(printf '%s\n' "$out" | grep -c ' hit  *0 ')" = 3 ] || fail "three answers were to come from the store"
    [ "$(printf '%s\n' "$out" | grep -c ' search ')" = 3 ] || fail "three searches were to be made"
    ;;
esac

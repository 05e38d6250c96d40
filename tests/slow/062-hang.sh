# TensorComprehensions #381, tinygrad #4677: a kernel that never ends, and Ctrl-C is ignored.
problem='x * y + 1'
words="--shape 64x64 --device $device --effort quick --trials 4 --budget 90 --quiet"
run env KFUSE_FAULT='hang@UNROLL=2' "$KFUSE" "$problem" $words --json
expect_status 0
case $(json failed) in *'"timeout":'*) ;; *) fail "failed is $(json failed)" ;; esac
expect_no_process
KFUSE_FAULT='hang@*' "$KFUSE" "$problem" $words --retune >out.txt 2>&1 &
sleep 2
kill -INT $!
status=0
wait $! || status=$?
expect_status 130
expect_no_process

# triton #6547, lion-pytorch #36: an update in place that is tuned on the user's data is applied many times.
npy x.npy f32 4 1 2 3 4
run "$KFUSE" run 'x = x * 2' x=x.npy -o x=out.npy --device "$device" --trials 10 --budget 30 --quiet
expect_status 0
expect_npy out.npy 'f32 4 2 4 6 8'
expect_npy x.npy 'f32 4 1 2 3 4'
run "$KFUSE" run 'x = x * 2' x=x.npy -o x=x.npy --device "$device" --quiet
expect_npy x.npy 'f32 4 2 4 6 8'

# NVIDIA/Fuser #2664: a broadcast scalar updated in place while others still read it.
npy a.npy f32 4096x64 0 1 2 3 4 5 6 7
npy c.npy f32 scalar 1
npy expected.npy f32 4096x64 0 3 6 9 12 15 18 21
tune run 'c = c + 1; out = a + c*b' a=a.npy b=a.npy c=c.npy -o c=c2.npy -o out=out.npy
if [ "$status" = 0 ]; then
    [ "$(npy out.npy)" = "$(npy expected.npy)" ] || fail "not 3*i"
    expect_npy c2.npy 'f32 scalar 2'
else # refused, or of several kernels
    case $status in 1 | 3) expect_err 'c' ;; *) fail "exit $status" ;; esac
    expect_no_out
fi

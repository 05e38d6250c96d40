# fla-org #1147, xformers #1037: tuned again for every new length. One tuning for a bucket; every length exact.
first=
for n in 1000 1001 1010 1023 1024; do
    npy x.npy f32 $n 1 2 3 4 5 6 7
    npy expected.npy f32 $n 3 5 7 9 11 13 15
    computes "$(npy expected.npy)" '2*x + 1' x=x.npy
    tuned '2*x + 1' --shape $n --json --retune
    tuned '2*x + 1' --shape $n --json
    expect_json cached true
done
run "$KFUSE" cache clear
tuned '2*x + 1' --shape 1000 --json
[ "$(json compiled)" -gt 0 ] || fail "nothing compiled the first time"
for n in 1001 1010 1023 1024; do
    tuned '2*x + 1' --shape $n --json
    expect_json compiled 0
done
# A program of several kernels too: its parts and its eager chain come from the store.
tuned 's = x + b; return relu(s), b*2' --shape 100x100 --shape b=100 --json
for n in 99 100; do
    tuned 's = x + b; return relu(s), b*2' --shape ${n}x$n --shape b=$n --json
    expect_json compiled 0
done

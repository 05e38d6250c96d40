# burn #5607, pytorch #55044: the variance as E[x^2] - E[x]^2 loses all its digits where the mean is large.
row() { for i in $(seq 0 15); do awk "BEGIN { printf \"%.10g \", 16384 + $i / 512 }"; done; }
npy x.npy f32 1x16 $(row)
npy g.npy f32 16 $(printf '1 %.0s' $(seq 16))
npy b.npy f32 16 $(printf '0 %.0s' $(seq 16))
expect_ends() {
    npy y.npy | awk '{ ok = $3 < -1.53503 && $3 > -1.53507 && $NF > 1.53503 && $NF < 1.53507; exit !ok }' ||
        fail "first and last: $(npy y.npy | awk '{ print $3, $NF }')"
}
points='layernorm: rows:'
[ "$device" != cuda ] || points+=' rows:KEEP=2,ONLINE=1 rows:KEEP=2,ONLINE=0'
for point in $points; do
    tuned run 'layernorm(x, g, b)' x=x.npy g=g.npy b=b.npy -o y.npy --point $point
    expect_ends
done
tuned run '(x - mean(x)) / sqrt(var(x) + 1e-5)' x=x.npy -o y.npy
expect_ends
# Squares of f16's largest numbers are no f16 numbers (bits of 60000, -60000, 1, -1).
npy h.npy f16 1x4 7b53 fb53 7b53 fb53
npy one.npy f16 4 3c00 3c00 3c00 3c00
computes 'f16 1x4 3c00 bc00 3c00 bc00' 'rmsnorm(x, g)' x=h.npy g=one.npy

# pytorch #178123: a variance that is too large for f32 is inf, and what is divided by it is 0: no NaN from inf - inf.
npy x.npy f32 2x2 1e30 -1e30 3e38 3e38
npy g.npy f32 2 1 1
npy b.npy f32 2 0 0
computes 'f32 2x1 inf 0' 'var(x)' x=x.npy
computes 'f32 2x2 0 -0 0 0' '(x - mean(x)) / sqrt(var(x) + 1e-5)' x=x.npy
points='layernorm: rows:'
[ "$device" != cuda ] || points+=' rows:KEEP=2,ONLINE=1 rows:KEEP=2,ONLINE=0'
for point in $points; do
    computes 'f32 2x2 0 0 0 0' 'layernorm(x, g, b)' x=x.npy g=g.npy b=b.npy --point $point
done

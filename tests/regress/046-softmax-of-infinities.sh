# flashinfer #1178, tt-metal #56056: a part of a row that is -inf makes NaN; rows shorter than a block; rows of -inf
# differ between back ends. By the formula exp(x - max(x)) / sum(…): NaN where all are -inf, or one is inf or NaN.
tail() { printf -- '-inf %.0s' $(seq 63); }
npy rows.npy f32 4x64 $(tail) 0 0 $(tail) $(tail) -inf $(printf '0 %.0s' $(seq 64))
zeros() { printf '0 %.0s' $(seq 63); }
expected="f32 4x64 $(zeros)1 1 $(zeros)$(printf 'nan %.0s' $(seq 64))$(printf '0.015625 %.0s' $(seq 64))"
computes "${expected% }" 'softmax(x)' x=rows.npy
# By the template, by what is generated, and by its forms for rows that are too long to be kept.
points='softmax: rows:'
case $device in
cpu) points+=' rows:KEEP=0,ONLINE=1 rows:KEEP=0,ONLINE=0' ;;
cuda) points+=' rows:KEEP=1 rows:KEEP=2,ONLINE=1 rows:KEEP=2,ONLINE=0' ;;
esac
for point in $points; do
    computes "${expected% }" 'softmax(x)' x=rows.npy --point $point
done
npy three.npy f32 3x64 $(tail) 0 0 $(tail) $(tail) -inf
for point in ${points#softmax:}; do
    computes 'f32 3x1 0 0 nan' 'log(sum(exp(x - max(x)))) + max(x)' x=three.npy --point ${point/KEEP=0,/}
done
npy short.npy f32 2x5 0 0 0 0 -inf inf 0 1 nan 2
computes 'f32 2x5 0.25 0.25 0.25 0.25 0 nan nan nan nan nan' 'softmax(x)' x=short.npy
npy one.npy f32 3x1 7 -inf 0
computes 'f32 3x1 1 nan 1' 'softmax(x)' x=one.npy

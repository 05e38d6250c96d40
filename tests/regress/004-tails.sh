# LeetCUDA #421, IRON #198: a guard that looks at the first element of a vector only; a tail that is never written.
values='1 2 3 4 5 6 7 8 9 10 11'
points='BLOCK=4096,UNROLL=1 BLOCK=4096,UNROLL=4 STREAM=1'
[ "$device" = cpu ] || points='VEC=4 VEC=2,UNROLL=2 VEC=1'
for n in 1 2 3 5 7 127 1023 1025; do
    npy x.npy f32 $n $values
    npy expected.npy f32 $n 2 4 6 8 10 12 14 16 18 20 22
    for point in $points; do
        computes "$(npy expected.npy)" 'x + x' x=x.npy --point $point
    done
done

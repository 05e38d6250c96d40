# numexpr #67: only 31 distinct inputs.
npy x.npy f32 5 1 2 3 4 5
for n in 33 200 256; do
    sum=x1 files=x1=x.npy
    for i in $(seq 2 $n); do sum="$sum + x$i" files="$files x$i=x.npy"; done
    computes "f32 5 $n $((2 * n)) $((3 * n)) $((4 * n)) $((5 * n))" "$sum" $files
done

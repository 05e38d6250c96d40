# Reductions over any axes: results, empty axes, many equal numbers, whole numbers that wrap, NaN; and the same bits
# whatever the number of threads.
npy x.npy f32 2x3 1 2 3 4 5 6
npy deep.npy f32 2x2x3 1 2 3 4 5 6 7 8 9 10 11 12
npy s.npy f32 2x1 10 100
npy empty.npy f32 2x0 0
npy hollow.npy f32 2x0x3 0
npy tenths.npy f32 16777221 0.1
npy bytes.npy i8 2x3 -128 127 5 -128 127 -5
npy wide.npy i64 2x2 9223372036854775807 1 1 2
npy nan.npy f32 2x2 nan 1 2 3
npy odd.npy f32 1003x7 0.25 -0.125 3 1e-3 7.7 -2.3 0.9 1.1

computes 'f32 1x1 21' 'sum(x, axis=all)' x=x.npy
computes 'f32 1x3 2.5 3.5 4.5' 'mean(x, axis=0)' x=x.npy
computes 'f32 2x1x3 4 5 6 10 11 12' 'max(x, axis=1)' x=deep.npy
computes 'f32 1x2x3 7 16 27 40 55 72' 'prod(x, axis=0)' x=deep.npy
computes 'f32 1x3 410 520 630' 'sum(x * s, axis=0)' x=x.npy s=s.npy
computes 'f32 1x1 2.91666675' 'var(x, axis=all)' x=x.npy
computes 'f32 1x1 630' 'sum(x * s, axis=all) / 2 - 150' x=x.npy s=s.npy

# over nothing, and no result at all
for case in 'sum 0' 'prod 1' 'max -inf' 'min inf' 'mean nan' 'var nan'; do
    value=${case#* }
    computes "f32 2x1 $value $value" "${case% *}(x)" x=empty.npy
    computes "f32 2x1x3 $value $value $value $value $value $value" "${case% *}(x, axis=1)" x=hollow.npy
    computes "f32 1x1 $value" "${case% *}(x, axis=all)" x=empty.npy
done
computes 'f32 1x0' 'sum(x, axis=0)' x=empty.npy

# 0.1 as f32, 2^24 + 5 times, is 1677722.125: f32 alone gives 2097152
for expression in 'sum(x, axis=all)' 'sum(x)'; do
    tuned run "$expression" x=tenths.npy -o sum.npy
    npy sum.npy | awk '{exit !($3 > 1677718 && $3 < 1677726)}' || fail "of equal numbers: $(npy sum.npy)"
done

computes 'i64 1x3 -256 254 0' 'sum(k, axis=0)' k=bytes.npy
computes 'i8 1x1 127' 'max(k, axis=all)' k=bytes.npy
computes 'i64 1x2 -9223372036854775808 3' 'sum(k, axis=0)' k=wide.npy
computes 'f32 1x2 nan 3' 'max(x, axis=0)' x=nan.npy
computes 'f32 1x2 nan 1' 'min(x, axis=0)' x=nan.npy

[ "$device" = cpu ] || exit 0
for expression in 'sum(x, axis=0)' 'var(x, axis=all)'; do
    for threads in 1 2; do
        tuned run "$expression" x=odd.npy -o "threads$threads.npy" --point "reduce:THREADS=$threads"
    done
    cmp threads1.npy threads2.npy || fail "$expression depends on the number of threads"
done

# Shapes and types that cannot be: both shapes are named, a size that does not fit is named with what would.
refused 1 'shapes 3x4 and 5 do not broadcast' 'x + y' --shape x=3x4 --shape y=5
refused 1 'shapes 2x3x4 and 2x1x3 do not broadcast' 'x * y' --shape x=2x3x4 --shape y=2x1x3
refused 1 '--shape' 'relu(x)'
refused 1 '3x4' 'x @ y' --shape x=3x4 --shape y=5x6

# Sizes: one that no dimension may have, a product past 64 bits, arrays past the memory.
refused 2 "--shape '9223372036854775807x2'" 'x + 1' --shape 9223372036854775807x2
refused 2 '--shape' 'x + 1' --shape 99999999999999999999
refused 2 'more than 2^62 bytes' 'x + 1' --shape 4611686018427387904x4
refused 1 'x' 'x + y' --shape x=2147483648x1 --shape y=1x2147483648 --device cpu
refused 1 'the arrays take' 'x + 1' --shape 1048576x1048576 --device cpu
refused 1 'the arrays take' 'x * y' --shape x=1048576x1 --shape y=1x1048576 --device cpu

for shape in '' x 4x x4 4xx4 -4 4.5 4x-1 4,4 1x1x1x1x1x1x1x1x1; do
    refused 2 "--shape '$shape'" 'x + 1' --shape "$shape"
done

for type in f8 float bf32 '' F32; do
    refused 2 'bf16' 'x + 1' --shape 4 --dtype "$type"
    refused 2 'bf16' 'x + 1' --shape 4 --dtype "x=$type"
    refused 2 'bf16' 'x + 1' --shape 4 --out-dtype "$type"
done

# Shapes and types of names that the program does not have.
refused 1 "'z'" 'x + y' --shape 4 --shape z=8
refused 1 "'z'" 'x + y' --shape 4 --dtype z=f16

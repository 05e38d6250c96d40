# `kfuse run` on NumPy files of every type: values, types and shapes of the results.
# result TYPE SHAPE VALUES… of EXPR over the files and options in $words
result() {
    local expression=$1
    shift
    tuned run "$expression" $words -o out.npy
    expect_no_out
    expect_npy out.npy "$*"
    rm out.npy
}

npy x.npy f64 5 -1.5 0 2 1e300 nan
words=x=x.npy
result 'x * 2' f64 5 -3 0 4 2.0000000000000001e+300 nan
result 'relu(x)' f64 5 0 0 2 1.0000000000000001e+300 nan

npy x.npy f32 4 -1 -0.0 3 inf
result "relu(x) + 1" f32 4 1 1 4 inf
result 'x > 0' bool 4 0 0 1 1
words='x=x.npy --out-dtype f64'
result 'x * 0.5' f64 4 -0.5 -0 1.5 inf
words='x=x.npy --out-dtype f16'
result 'x + 1' f16 4 0000 3c00 4400 7c00
words='x=x.npy --out-dtype bf16'
result 'x' u16 4 bf80 8000 4040 7f80

npy x.npy f16 4 3c00 c000 7c00 0001
words=x=x.npy
result 'x + x' f16 4 4000 c400 7c00 0002
words='x=x.npy --out-dtype f32'
result 'x' f32 4 1 -2 inf 5.96046448e-08

# bf16 is uint16 with --dtype, in and out
npy x.npy u16 4 3f80 c000 7f80 0001
words='x=x.npy --dtype x=bf16'
result 'x + x' u16 4 4000 c080 7f80 0002
words='x=x.npy --dtype bf16'
result 'x * 0.5' u16 4 3f00 bf80 7f80 0000
words='x=x.npy --dtype x=bf16 --out-dtype f32'
result 'x' f32 4 1 -2 inf 9.18354962e-41

# f16 with bf16 gives f32
npy y.npy f16 4 3c00
words='x=x.npy y=y.npy --dtype x=bf16'
result 'x + y' f32 4 2 -1 inf 1

npy x.npy i32 4 7 -7 2147483647 0
words=x=x.npy
result 'x + 1' i32 4 8 -6 -2147483648 1
result 'x // 2' i32 4 3 -4 1073741823 0
result 'x % 3' i32 4 1 2 1 0
result 'x / 2' f32 4 3.5 -3.5 1.07374182e+09 0
result 'x == 0' bool 4 0 0 0 1

npy x.npy i64 3 4294967295 -9223372036854775808 5
result '-x' i64 3 -4294967295 -9223372036854775808 -5
result 'x * 2' i64 3 8589934590 0 10

npy x.npy i8 4 127 -128 1 -1
result 'x + 1' i8 4 -128 -127 2 0
words='x=x.npy --out-dtype i32'
result 'x + 1' i32 4 -128 -127 2 0

npy x.npy u8 4 255 0 1 200
words=x=x.npy
result 'x + 1' u8 4 0 1 2 201
result 'f32(x) / 255' f32 4 1 0 0.00392156886 0.784313738

npy x.npy bool 4 1 0 1 0
npy y.npy bool 4 1 1 0 0
words='x=x.npy y=y.npy'
result 'x && y' bool 4 1 0 0 0
result 'x + y' i32 4 2 1 1 0
words=x=x.npy
result '!x' bool 4 0 1 0 1
npy z.npy f32 4 10 20 30 40
words='x=x.npy z=z.npy'
result 'where(x, z, -1)' f32 4 10 -1 30 -1
result 'x * z' f32 4 10 0 30 0

# To an integer: half to even, saturating, NaN to 0.
npy x.npy f32 6 0.5 1.5 -2.5 300 -300 nan
words=x=x.npy
result 'i8(x)' i8 6 0 2 -2 127 -128 0
result 'u8(x)' u8 6 0 2 0 255 0 0
result 'i32(x * 1e10)' i32 6 2147483647 2147483647 -2147483648 2147483647 -2147483648 0
result 'bool(x)' bool 6 1 1 1 1 1 1

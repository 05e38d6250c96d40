# mlx #2267, vllm #45255: rows in a grid's dimension that ends at 65535.
for shape in 70000x8 65536x1; do
    npy x.npy f32 $shape 1 2 3 4 5 6 7 8
    npy s.npy f32 ${shape%x*}x1 2
    npy expected.npy f32 $shape 2 4 6 8 10 12 14 16
    tuned run 'x * s' x=x.npy s=s.npy -o out.npy
    cmp -s out.npy expected.npy || [ "$(npy out.npy)" = "$(npy expected.npy)" ] || fail "$shape is wrong"
done

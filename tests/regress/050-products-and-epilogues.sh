# CUDALibrarySamples #303: one epilogue of a family is missing while its sibling works. Each works, in each type.
for type in f32 f16 bf16; do
    for epilogue in 'x @ w' 'x @ w + b' 'relu(x @ w + b)' 'gelu(x @ w + b)'; do
        case $epilogue in *b*) b='--shape b=17' ;; *) b= ;; esac
        tuned "$epilogue" --shape x=33x20 --shape w=20x17 $b --dtype $type --json
        case $(json kernel) in *matmul*) ;; *) fail "$(json kernel): $epilogue in $type" ;; esac
        [ "$(json edges)" -gt 20 ] || fail "$(json edges) edges: $epilogue in $type"
    done
done

# Stored either way, and with matrices in front.
npy x.npy f32 2x3 1 2 3 4 5 6
npy w.npy f32 3x2 1 0 0 1 1 1
npy v.npy f32 2x3 1 0 1 0 1 1
npy t.npy f32 3x2 1 4 2 5 3 6
npy y.npy f32 2x2x3 1 2 3 4 5 6 0 0 0 1 1 1
npy b.npy f32 2 10 -20
computes 'f32 2x2 14 -15 20 -9' 'x @ w + b' x=x.npy w=w.npy b=b.npy
computes 'f32 2x2 14 0 20 0' 'relu(x @ v.T + b)' x=x.npy v=v.npy b=b.npy
computes 'f32 2x2 14 0 20 0' 'relu(t.T @ v.T + b)' t=t.npy v=v.npy b=b.npy
computes 'f32 2x2x2 4 5 10 11 0 0 2 2' 'y @ w' y=y.npy w=w.npy
computes 'f32 2x2 16 25 100 121' 'x @ w * (x @ u)' x=x.npy w=w.npy u=w.npy
npy r.npy f32 2x2 1 2 3 4
tuned run 'r = r - x @ w' r=r.npy x=x.npy w=w.npy -o r=r2.npy
expect_npy r2.npy 'f32 2x2 -3 -3 -7 -7'

# No depth: the product is 0, and what is done to it is done.
tuned 'exp(x @ w + b)' --shape x=3x0 --shape w=0x5 --shape b=5

# All of it can be one kernel.
for program in 'gelu(x @ w + b) + r' 'silu(x @ w) * (x @ v)' 'h = x @ w; y = relu(h); return h, y'; do
    run "$KFUSE" dump --groups "$program" --shape 8x8 --device cpu
    expect_out 'fewest kernels: 1 kernel'
done

# pytorch #194278: gelu(-inf) is NaN, from -inf * 0.
npy x.npy f32 3 -inf inf nan
for op in gelu gelu_tanh silu quick_gelu mish; do computes 'f32 3 -0 inf nan' "$op(x)" x=x.npy; done
computes 'f32 3 0 inf nan' 'softplus(x)' x=x.npy

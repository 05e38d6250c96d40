# pytorch #180575: a cast down and up is optimised away.
npy x.npy f32 1 1.001953125 # 1 + 2^-9
computes 'f32 1 1' 'f32(bf16(x))' x=x.npy
computes 'f32 1 1.00195312' 'f32(x)' x=x.npy
computes 'f32 1 1.00195312' 'f32(f64(x))' x=x.npy

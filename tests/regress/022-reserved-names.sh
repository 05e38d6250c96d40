# cupy's reserved n, i and _*: a user's name collides with one that is generated.
npy x.npy f32 3 1 2 3
computes 'f32 3 2 4 6' 'out = n + i' n=x.npy i=x.npy
computes 'f32 3 2 4 6' 'float1 + threadIdx' float1=x.npy threadIdx=x.npy
computes 'f32 3 4 8 12' 'int + main + t1 + kf_n' int=x.npy main=x.npy t1=x.npy kf_n=x.npy
computes 'f32 3 5 10 15' '_ + __global__ + in_x + args + count' _=x.npy __global__=x.npy in_x=x.npy args=x.npy count=x.npy
computes 'f32 3 1 4 9' 'max = x * x; max' x=x.npy

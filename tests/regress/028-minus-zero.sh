# pytorch #196039: relu(-0.0) flips its sign.
npy x.npy f32 4 -0.0 0 -1 1
computes 'f32 4 -0 0 0 1' 'relu(x)' x=x.npy
computes 'f32 4 0 -0 1 -1' '-x' x=x.npy
computes 'f32 4 -0 0 -1 1' 'x * 1' x=x.npy
computes 'f32 4 0 0 -1 1' 'x + 0' x=x.npy
computes 'f32 4 -0 0 -1 1' 'x - 0' x=x.npy

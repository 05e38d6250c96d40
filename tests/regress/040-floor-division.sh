# triton #619: // truncates instead of flooring.
npy x.npy i32 4 -3 3 -4 4
computes 'i32 4 -2 1 -2 2' 'x // 2' x=x.npy
computes 'i32 4 1 -2 2 -2' 'x // -2' x=x.npy
computes 'i32 4 1 1 0 0' 'x % 2' x=x.npy
npy y.npy f32 4 -3 3 -4.5 4.5
computes 'f32 4 -2 1 -3 2' 'y // 2' y=y.npy

# cupy #9400: a literal turns the fused result into f64.
npy x.npy f32 2 1 3
computes 'f32 2 2 18' 'x * (2.0 * h)' x=x.npy h=x.npy
npy x.npy f16 2 3c00 4200
computes 'f16 2 4000 4c80' 'x * (2.0 * h)' x=x.npy h=x.npy

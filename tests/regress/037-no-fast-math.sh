# candle #3309, cupy's -ftz: fast math makes garbage of small numbers. Subnormals are kept.
npy x.npy f32 3 -100 0 1e-40
computes 'f32 3 3.78350585e-44 1 1' 'exp(x)' x=x.npy
computes 'f32 3 -100 0 9.9999461e-41' 'x * 1' x=x.npy
computes 'f32 3 -50 0 4.99997305e-41' 'x / 2' x=x.npy

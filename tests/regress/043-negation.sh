# numexpr #25: a 64-bit negation is done in 32 bits.
npy x.npy i64 2 4294967295 -4294967296
computes 'i64 2 -4294967295 4294967296' '-x' x=x.npy
computes 'i64 2 4294967295 4294967296' 'abs(x)' x=x.npy

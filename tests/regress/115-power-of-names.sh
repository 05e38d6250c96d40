# numexpr #434: A**B with two names crashed the parser's shortcut for constants.
npy a.npy f32 4 2 3 -2 4
npy b.npy f32 4 3 2 3 0.5
computes 'f32 4 8 9 -8 2' 'a ** b' a=a.npy b=b.npy
computes 'f32 4 4 9 4 16' 'a ** 2' a=a.npy
computes 'f32 4 0.25 0.111111112 0.25 0.0625' 'a ** -2' a=a.npy
computes 'f32 4 -4 -9 -4 -16' '-a ** 2' a=a.npy

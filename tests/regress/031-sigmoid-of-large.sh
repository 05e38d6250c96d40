# dynet #1525, ds4 #498: sigmoid and silu of large numbers are NaN.
npy x.npy f32 4 -1000 1000 -100 100
computes 'f32 4 0 1 3.78350585e-44 1' 'sigmoid(x)' x=x.npy
tuned run 'silu(x)' x=x.npy -o out.npy
case $(npy out.npy) in 'f32 4 -0 1000 -'*'e-42 100') ;; *) fail "silu: $(npy out.npy)" ;; esac
computes 'f32 4 -1 1 -1 1' 'tanh(x)' x=x.npy

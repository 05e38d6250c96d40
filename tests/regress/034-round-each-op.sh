# pytorch #195214: a fused chain keeps f32 where eager rounds to bf16 each time.
npy x.npy u16 1 3f81 # 1 + 2^-7
npy c.npy u16 1 3b00 # 2^-9
words='x=x.npy c=c.npy --dtype bf16'
computes 'u16 1 3b00' '(x + c) - x' $words
computes 'u16 1 0000' '(x + c) - x' $words --round-each-op

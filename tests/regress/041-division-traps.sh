# pytorch #184406: INT_MIN / -1 kills the process; so does a division by zero.
npy x.npy i32 3 -2147483648 7 -7
npy y.npy i32 3 -1 0 0
npy a.npy i64 2 -9223372036854775808 1
npy b.npy i64 2 -1 0
for expression in 'x // y' 'x % y' 'x / y'; do tuned run "$expression" x=x.npy y=y.npy -o out.npy; done
for expression in 'a // b' 'a % b'; do tuned run "$expression" a=a.npy b=b.npy -o out.npy; done
npy c.npy i8 2 -128 5
npy d.npy i8 2 -1 0
tuned run 'c // d' c=c.npy d=d.npy -o out.npy

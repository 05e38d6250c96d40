# What is wrong with an expression is said once, at its place, with what would have fitted; nothing is left behind.
refused 1 '' 'relu(x + ) * 2' --shape 4
[ "$err" = "<expr>:1:10: error: unexpected ')', expected an expression
   1 | relu(x + ) * 2
     |          ^" ] || fail "not the expected diagnostic"

refused 1 "did you mean 'gelu'?" 'gleu(x)' --shape 4
refused 1 "unknown function 'frobnicate'" 'frobnicate(x)' --shape 4
refused 1 "'relu' takes 1 argument, 2 given" 'relu(x, y)' --shape 4
refused 1 "'clamp' takes 3 arguments, 1 given" 'clamp(x)' --shape 4
refused 1 '^' 'elu(x, beta=2)' --shape 4
refused 1 "'^'" 'x ^ 2' --shape 4
refused 1 '**' 'x ^ 2' --shape 4
refused 1 'error:' '' --shape 4
refused 1 'error:' 'x +' --shape 4
refused 1 'error:' '1e + x' --shape 4
refused 1 'error:' 'x; } __global__ void f(){' --shape 4
refused 1 'error:' $'x\001y' --shape 4
refused 1 'error:' $'x + \xff' --shape 4
refused 1 'f' 'f(x) = g(x); g(x) = f(x); f(x)' --shape 4
refused 1 'x' 'y = x; y = 2*x' --shape 4
refused 1 'put parentheses around' $'y = x\n+ 1' --shape 4

# Independent mistakes are collected.
refused 1 "unknown function 'aaaa'" 'aaaa(x) + bbbb(x)' --shape 4
expect_err "unknown function 'bbbb'"

# A file has its name in the message, and lines count.
printf 'h = x + b\nout = gleu(h)\n' >program.kf
refused 1 "program.kf:2:7: error: unknown function 'gleu'" -f program.kf --shape 4
run "$KFUSE" -f - --shape 4 <program.kf
expect_status 1
expect_no_out
expect_err "<stdin>:2:7: error: unknown function 'gleu'"
refused 1 'nowhere.kf' -f nowhere.kf --shape 4
refused 1 'kfuse: ' -f . --shape 4

# A name that is a single edit from a binding is a warning, and an input.
run "$KFUSE" dump --ir 'scale = x*2; scal + 1' --shape 4
expect_status 0
expect_err "warning: "

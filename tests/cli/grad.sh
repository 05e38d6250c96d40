# Backward programs: their text, names, mistakes with a caret, derivatives of the user's own; and that what is printed is
# a program.
# derives EXPR WORDS… : `kfuse grad` ends well and says nothing; $out is the text
derives() {
    run "$KFUSE" grad "$@"
    expect_status 0
    expect_no_err
}
# is LINE… : the text is these lines
is() {
    local text
    text=$(printf '%s\n' "$@")
    [ "$out" = "$text" ] || fail "expected
$text"
}
derives 'x + b' --wrt x,b
is 'dx = sum_to(dout, x)' 'db = sum_to(dout, b)'
derives 'x * b' --wrt b,x
is 'db = sum_to(dout * x, b)' 'dx = sum_to(dout * b, x)'
derives 'relu(x)'
is 'dx = x <= 0 ? 0 : dout'
derives 'elu(x)'
is 'dx = x > 0 ? dout : dout * exp(x)'
derives 'softmax(x)'
is 'out = softmax(x)' 'dx = out * (dout - sum(dout * out))'
derives 'sum(x)'
is 'dx = broadcast_to(dout, x)'
derives 'mean((x - t)**2, axis=all)' --wrt x
is 'dx = sum_to(dout / count(x + t, axis=all) * (x - t) * 2, x)'
derives 'gelu(x @ w + b)' --wrt b
case $out in *'db = sum_to('*) ;; *) fail "$out" ;; esac
derives 'x ** 3'
is 'dx = dout * x ** 2 * 3'
derives 'max(x)'
is 't1 = x == max(x)' 'dx = (t1 ? dout : 0) / sum(t1)'
derives 'param a = 2; y = a * x'
is 'param a = 2' 'dx = dy * a'
derives 'f(u) = u * u; y = f(x); z = x + 1; return y, z'
is 'dx = dz + dy * x * 2'

# An input that nothing smooth depends on: left out, or zeros where asked for.
derives 'where(m > 0, x, 0)' --dtype m=i32
is 'dx = sum_to(m > 0 ? dout : 0, x)'
derives 'where(m > 0, x, 0)'
is 'dx = sum_to(m > 0 ? dout : 0, x)'
derives 'where(m > 0, x, 0)' --wrt m
is 'dm = broadcast_to(0, m)'
derives 'x // 2 + y' --wrt x
is 'dx = broadcast_to(0, x)'

# Names that are taken
derives 'dout * x'
is 'ddout = sum_to(dout2 * x, dout)' 'dx = sum_to(dout2 * dout, x)'
derives 'dx + x' --wrt x
is 'dx2 = sum_to(dout, x)'
derives 'ef = x * 2'
is 'dx = def2 * 2'
derives 'x * y' --json --wrt y
is '{"program":"dy = sum_to(dout * x, y)\n","cotangents":[{"output":"out","name":"dout"}],"results":[{"input":"y","name":"dy"}]}'

# A file, standard input, and one into the other
printf 'h = x + b\nout = h * h\n' >f.kf
derives -f f.kf
is 'dh = dout * (x + b) * 2' 'dx = sum_to(dh, x)' 'db = sum_to(dh, b)'
npy x.npy f32 4 1 2 3 4
npy dout.npy f32 4 1 1 2 -1
"$KFUSE" grad 'x * x' | tuned run -f - x=x.npy dout=dout.npy -o dx.npy
expect_npy dx.npy 'f32 4 2 4 12 -8'
"$KFUSE" grad 'relu(x - 2)' >b.kf
tuned run -f b.kf x=x.npy dout=dout.npy -o dx.npy
expect_npy dx.npy 'f32 4 0 0 2 -1'
npy x.npy f32 4 inf nan -inf 0
tuned run "$("$KFUSE" grad 'silu(x)')" x=x.npy dout=dout.npy -o dx.npy
expect_npy dx.npy 'f32 4 1 nan -0 -0.5'
npy x.npy f32 2x2 1 2 3 4
tuned run 'y = broadcast_to(2, x); z = x / count(x, axis=all)' x=x.npy -o y=y.npy -o z=z.npy
expect_npy y.npy 'f32 2x2 2 2 2 2'
expect_npy z.npy 'f32 2x2 0.25 0.5 0.75 1'
npy b.npy f32 2 1 2
tuned run 'broadcast_to(b, x)' x=x.npy b=b.npy -o y.npy
expect_npy y.npy 'f32 2x2 1 2 1 2'
tuned run 'sum_to(b, x) * 2' x=b.npy b=b.npy -o y.npy
expect_npy y.npy 'f32 2 2 4'
npy b.npy f32 1x2 1 2
npy x.npy f32 2 3 4
tuned run 'sum_to(b, x) * x' x=x.npy b=b.npy -o y.npy
expect_npy y.npy 'f32 2 3 8'

# Mistakes
refused 1 "did you mean 'scale'?" grad 'scale * x' --wrt scalee
refused 1 "has no such input" grad 'x * 2' --wrt z
refused 1 "'i' is not floating" grad 'x * i' --dtype i=i32 --wrt i
refused 1 "'eps' is a param" grad 'param eps = 1; x + eps' --wrt eps
refused 1 "'h' is computed by the program" grad 'h = x * 2; y = h + 1' --wrt h
refused 1 'twice' grad 'x * 2' --wrt x,x
refused 1 "'p' is updated in place" grad 'p = p - lr * g'
refused 1 "'p' is updated in place" grad 'h = p * 2; p = p - h'
refused 1 "'b' is read before it is bound" grad 'a = b * x; b = 2'
refused 1 "'a' is bound twice" grad 'a = x; a = y'
refused 1 'no output depends smoothly' grad 'floor(x) > 0'
refused 1 'no output depends smoothly' grad '3'
refused 1 "unknown function 'gleu'" grad 'gleu(x)'
refused 2 '--wrt takes names' grad 'x * 2' --wrt 'x,,b'
refused 2 '--wrt goes with grad' 'x * 2' --wrt x --shape 4
refused 2 'no expression' grad
refused 2 'one word too many' grad 'x' 'y'
refused 1 "'sum_to' cannot take 4 to 3" 'sum_to(x, y)' --shape x=4 --shape y=3
refused 1 "'broadcast_to' cannot take 4 to 3x1" 'broadcast_to(x, y)' --shape x=4 --shape y=3x1
refused 1 "'sum_to' takes 2 arguments, 1 given" 'sum_to(x)' --shape 4
refused 1 'runs over axis 1' 'x * count(x, axis=1)' --shape 4

# Derivatives of one's own
printf '%s\n' 'snake(x, a=1) = x + sin(a*x)**2 / a' 'derivative snake(x, a) wrt x = 1 + sin(2*a*x)' \
    'derivative round(x) = 1' 'cube(x) = x*x*x' 'derivative cube(x, d) = 3 * d * x * x' >own.kf
run "$KFUSE" grad 'snake(x, 2) + cube(y)' --ops own.kf
expect_status 0
expect_err "own.kf:3:12: warning: this derivative of 'round' by 'x' hides the built-in one"
expect_out 'dx = sum_to(dout * (1 + sin(4 * x)), x)'
expect_out 'dy = 3 * sum_to(dout, y) * y * y'
run "$KFUSE" grad 'snake(x, a) * round(y)' --ops own.kf
expect_status 0
expect_out 'dy = sum_to(dout * snake(x, a), y)'
run "$KFUSE" ops snake --ops own.kf
expect_out 'derivative snake(x, a) wrt x = 1 + sin(2 * a * x)'
run "$KFUSE" ops sum_to
expect_out "x's shape"
# bad TEXT LINE… : a file with the lines is refused with TEXT and a caret
bad() {
    local text=$1
    shift
    printf '%s\n' "$@" >bad.kf
    refused 1 "$text" 'x + 1' --shape 4 --ops bad.kf
    expect_err 'bad.kf:'
    expect_err '^'
}
bad "unknown function 'sliu'" 'derivative sliu(x) = 1'
expect_err "did you mean 'silu'?"
bad "'prelu' has other parameters" 'derivative prelu(x, b) wrt b = 1'
bad "'silu' has other parameters" 'derivative silu(x, d, e) = 1'
bad "has 2 parameters, and this derivative is by one" 'derivative prelu(x, a) = 1'
bad "'prelu' has no parameter 'z'" 'derivative prelu(x, a) wrt z = 1'
bad "two derivatives of 'silu' by 'x'" 'derivative silu(x) = 1' 'derivative silu(x) = 2'
bad "is no parameter of 'silu'" 'derivative silu(x) = y'
bad "unknown function 'gleu'" 'derivative silu(x) = gleu(x)'
bad "the derivative of 'mean' is built in" 'derivative mean(x) = 1'
bad "'wrt' names the parameter" 'derivative prelu(x, a) by a = 1'
bad "have no defaults" 'derivative elu(x, alpha=1) wrt x = 1'
refused 1 'a derivative stands in a file of functions' 'derivative relu(x) = 1' --shape 4
npy x.npy f32 1 2
computes 'f32 1 3' 'derivative = x + 1; derivative * 1' x=x.npy

# What the text needs may be hidden by the user's functions: C has other names for it.
printf 'exp(x) = x\ncosh(x) = x\n' >hide.kf
run "$KFUSE" grad 'expm1(x)' --ops hide.kf
expect_out 'dx = dout * expf(x)'
printf 'sum_to(x, y) = x\n' >hide.kf
refused 1 "needs the built-in 'sum_to'" grad 'x + b' --ops hide.kf

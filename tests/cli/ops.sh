# Functions: listing, one of them, files of the user's, and their mistakes with a caret into that file.
run "$KFUSE" ops
expect_status 0
for name in add sub mul div neg abs min max clamp relu leaky_relu relu6 elu selu celu gelu gelu_tanh quick_gelu silu mish \
    sigmoid hardsigmoid hardswish hardtanh softplus softsign tanh exp log log1p expm1 sqrt rsqrt pow square reciprocal \
    sin cos erf floor ceil round trunc sign where lerp bias_add swiglu geglu reglu dropout_apply fake_quant; do
    printf '%s\n' "$out" | grep -q "^$name(" || fail "kfuse ops lacks $name"
done
run "$KFUSE" ops leaky_relu
expect_status 0
for text in 'leaky_relu(x, slope=0.01) = x < 0 ? slope * x : x' CUDA C error values; do expect_out "$text"; done
case $out in *'(null)'*) fail "(null)" ;; esac
refused 1 "no function 'relux'; did you mean 'relu6'?" ops relux
refused 2 'one word too many' ops relu gelu

# --ops FILE, and every *.kf of the user's folder, with no rebuild
printf 'snake(x, a=1) = x + sin(a*x)**2/a  # periodic\n' >my.kf
npy x.npy f32 3 0 1 2
refused 1 "unknown function 'snake'" 'snake(x)' --shape 4
tuned run 'snake(x, 2)' --ops my.kf x=x.npy -o out.npy
case $(npy out.npy) in 'f32 3 0 1.41341'*' 2.28637'*) ;; *) fail "snake(x, 2): $(npy out.npy)" ;; esac
run "$KFUSE" ops snake --ops my.kf
expect_out 'periodic'
mkdir -p config/kfuse
cp my.kf config/kfuse
printf 'twice(x) = 2*x\n' >config/kfuse/other.kf
tuned run 'twice(snake(x))' x=x.npy -o out.npy
case $(npy out.npy) in 'f32 3 0 3.416146'*' 5.65364'*) ;; *) fail "twice(snake(x)): $(npy out.npy)" ;; esac
run "$KFUSE" ops
expect_out 'snake(x, a=1)'
rm -r config

# An edited function is another problem; hiding a built-in is said.
printf 'f(x) = x + 1\n' >f.kf
tuned run 'f(x)' --ops f.kf x=x.npy -o out.npy
expect_npy out.npy 'f32 3 1 2 3'
printf 'f(x) = x + 2\n' >f.kf
tuned run 'f(x)' --ops f.kf x=x.npy -o out.npy
expect_npy out.npy 'f32 3 2 3 4'
printf 'relu(x) = x\n' >f.kf
tuned run 'relu(x - 1)' --ops f.kf x=x.npy -o out.npy
expect_npy out.npy 'f32 3 -1 0 1'
expect_err "f.kf:1:1: warning: this 'relu' hides the built-in one"

# bad LINE TEXT: a file with that line is refused with TEXT and a caret, however it comes.
bad() {
    printf '# a comment\n%s\n' "$1" >bad.kf
    refused 1 'bad.kf:2:' 'x + 1' --shape 4 --ops bad.kf
    expect_err "$2"
    expect_err '^'
    refused 1 "$2" ops --check bad.kf
    refused 1 "$2" ops --ops bad.kf
}
bad 'f(x = x' 'is not closed'
bad 'f(x) = f(x)' "'f' calls itself"
bad 'f(x) = g(x); g(x) = f(x)' 'calls itself'
bad 'f(x) = relu(x, x)' "'relu' takes 1 argument, 2 given"
bad 'f(x) = gleu(x)' "did you mean 'gelu'?"
bad 'f(x) = x + y' 'y'
bad 'f(x) = x; f(x) = 2*x' "'f'"
bad 'x + 1' 'error'
bad 'y = 2' 'error'
bad 'f(x, x) = x' 'x'
mkdir -p config/kfuse
mv bad.kf config/kfuse
run "$KFUSE" 'x + 1' --shape 4 --device cpu
expect_status 1
expect_no_out
expect_err "$TMP/config/kfuse/bad.kf:2:"
rm -r config
refused 1 "'missing.kf'" 'x + 1' --shape 4 --ops missing.kf
echo 'twice(x) = x + x' >'my own.kf'
tuned 'twice(x)' --shape 4 --ops 'my own.kf'
expect_out "-o out.npy --ops 'my own.kf'"
refused 1 "'missing.kf'" ops --check missing.kf
[ "$(printf '%s\n' "$err" | grep -o missing.kf | wc -l)" = 1 ] || fail "the file is named twice"

# ops --check FILE tests it as the built-in ones are tested.
run "$KFUSE" ops --check my.kf
expect_status 0
expect_out ' passed, 0 failed'
expect_no_process

# The derivatives that a file states are put beside differences, of elements and of rows; a wrong one is named.
cat >stated.kf <<'END'
snake(x, a=1) = x + sin(a*x)**2 / a
derivative snake(x, a) wrt x = 1 + sin(2*a*x)
derivative snake(x, a) wrt a = x * sin(2*a*x) / a - sin(a*x)**2 / a**2
weights(x) = exp(x) / sum(exp(x))
derivative weights(x, d) = weights(x) * (d - sum(d * weights(x)))
logarithm(x) = log(x - 0.2)
derivative logarithm(x) = 1 / (x - 0.2)
product(y, dy, result) = y * dy * result
derivative product(y, dy, result) wrt dy = y * result
steady(x) = floor(x)
derivative steady(x) = 0
END
run "$KFUSE" ops --check stated.kf
expect_status 0
expect_out '6 derivatives beside differences: 0 wrong'
wrong() { # SED NAME
    sed "$1" stated.kf >wrong.kf
    run "$KFUSE" ops --check wrong.kf
    expect_status 3
    expect_out "derivative $2: at "
    expect_out '6 derivatives beside differences: 1 wrong'
    expect_err '1 of 6 derivatives are wrong'
}
wrong 's/1 + sin(2/1 - sin(2/' 'snake wrt x'
wrong 's/- sin(a\*x)\*\*2/+ sin(a*x)**2/' 'snake wrt a'
wrong 's/d - sum(d/d + sum(d/' 'weights wrt x'
wrong 's/wrt dy = y/wrt dy = y * 2/' 'product wrt dy'

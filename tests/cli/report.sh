# The report, for people and as JSON; a second run is answered from the store; a near-identical shape compiles nothing.
keys='expression shape dtype device winner time_us gbps roof_fraction eager_us eager_kernels speedup max_ulp candidates
    failed compiled cached'

tuned 'relu(x+res)' --shape 100x64
for line in 'relu(x + res)  ' '100x64 f32   2 inputs, 1 output' 'device  ' 'tried  ' 'winner  ' 'time  ' 'eager  ' \
    '2 kernels (add, relu)' 'speed-up  ' 'right      all 6 400 elements' 'took  ' "stored     $KFUSE_CACHE/kfuse.db" \
    "use it     kfuse run 'relu(x + res)' x=x.npy res=res.npy -o out.npy"; do
    expect_out "$line"
done
expect_no_err
expect_no_process

tuned 'relu(x+res)' --shape 100x64
expect_out 'answered from the store'
expect_out 'tried      2 candidates: 2 right'
tuned 'relu( x + res )  # the same' --shape 100x64 --json
expect_json cached true
expect_json compiled 0

tuned 'relu(x+res)' --shape 128x64 --json
for key in $keys; do
    case $out in *"\"$key\":"*) ;; *) fail "no $key in the JSON" ;; esac
done
if command -v python3 >/dev/null; then
    printf '%s' "$out" | python3 -m json.tool >/dev/null || fail "not JSON"
fi
[ "$(printf '%s\n' "$out" | wc -l)" = 1 ] || fail "more than one line"
expect_json expression '"relu(x + res)"'
expect_json shape '[128,64]'
expect_json dtype '"f32"'
expect_json eager_kernels 2
expect_json max_ulp 0
expect_json failed '{}'
case $(json winner) in '{"'*':'*'}') ;; *) fail "winner is $(json winner)" ;; esac

# What the program has is counted, not what one kernel reads: an input read twice is one.
tuned 'x + x.T' --shape 8x8
expect_out '8x8 f32   1 input, 1 output'
tuned 'y = x * 2; z = b + 1' --shape x=3 --shape b=4x4
expect_out '4x4 f32   2 inputs, 2 outputs'

# The line to use is this program, options and all, from the store too.
for k in 3 5; do
    tuned 'param k = 2; x * k' --shape 8 --dtype bf16 --param k=$k --out-dtype f32 --round-each-op --math fast
    expect_out "x=x.npy -o out.npy --dtype x=bf16 --param k=$k --out-dtype f32 --round-each-op --math fast"
done
expect_out 'answered from the store'

# What --math fast did; templates are found under it as under the default.
tuned 'x * y / 3 + y / 5' --shape 16 --math fast
expect_out 'math       fast: 1 product contracted to fma, 2 divisions turned into multiplications'
tuned 'x * y / 3 + y / 5' --shape 16 --math fast --json
expect_json math_done '["1 product contracted to fma","2 divisions turned into multiplications"]'
tuned 'layernorm(x, g, b)' --shape 16x64 --shape g=64 --shape b=64 --math fast
case $out in *layernorm:* | *'raced      layernorm '*) ;; *) fail "the template is not found: $out" ;; esac

# Distinct binaries are counted among what was tried; a roof is not slower than what is measured under it.
run "$KFUSE" 'x + y' --shape 4 --device "$device" --effort quick --trials 1 --json --quiet
[ "$(json distinct)" -le "$(json candidates)" ] || fail "$(json distinct) distinct of $(json candidates)"
case $(json roof_fraction) in null | 1 | 0.* | 1.* | 2.*) ;; *) fail "roof_fraction is $(json roof_fraction)" ;; esac

# Same bucket, other shape: measured, not compiled. Another bucket is another problem.
tuned 'tanh(x)*y' --shape 64x64 --json
expect_json cached false
tuned 'tanh(x)*y' --shape 60x60 --json
expect_json cached false
expect_json compiled 0
expect_json candidates 1
tuned 'tanh(x)*y' --shape 60x60 --json
expect_json cached true
tuned 'tanh(x)*y' --shape 300x300 --json
[ "$(json compiled)" -gt 0 ] || fail "nothing compiled in a new bucket"
# --exact keys by the very shape.
tuned 'tanh(x)*y' --shape 64x64 --exact --json
expect_json cached false
[ "$(json compiled)" -gt 0 ] || fail "nothing compiled for an exact key"
tuned 'tanh(x)*y' --shape 60x60 --exact --json
[ "$(json compiled)" -gt 0 ] || fail "an exact key met another shape"

# What changes the answer changes the key.
for option in '--math strict' '--hot' '--out-dtype f16' '--dtype f64' '--dtype f16' '--dtype f16 --round-each-op' \
    '--shape y=1'; do
    tuned 'tanh(x)*y' --shape 64x64 $option --json
    expect_json cached false
done
# A parameter's value does not.
tuned 'param eps = 1; x + eps' --shape 50 --json
tuned 'param eps = 1; x + eps' --shape 50 --param eps=0.25 --json
expect_json compiled 0

# Other names are other words in the report.
tuned 'relu(a+b)' --shape 100x64
expect_out 'relu(a + b)  '
expect_out 'a=a.npy b=b.npy -o out.npy'
tuned 'relu(b+a)' --shape 100x64
expect_out 'relu(b + a)  '
expect_out 'b=b.npy a=a.npy -o out.npy'

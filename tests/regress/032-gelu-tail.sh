# tt-metal #56490: 1 + erf and 1 + tanh lose all digits where they cancel. Right to 1e-5.
npy x.npy f32 1 -5
near() {
    tuned run "$1" x=x.npy -o out.npy
    npy out.npy | awk -v expected="$2" '{ e = $3 / expected - 1; exit !(e < 1e-5 && e > -1e-5) }' || fail "$1 is $(npy out.npy)"
}
near 'gelu(x)' -1.4332579e-06
near 'gelu_tanh(x)' -2.2917962e-07

# The manifest's command makes the same bytes where nothing is stored and nothing is tuned: it names every point, for
# each kernel and each size and architecture that is shipped. Only where points come from is told differently.
unlike() { sed -E 's/"origin": "([^"\\]|\\.)*"(, "time_us": [^,]*, "spread_us": [^}]*)?/"origin"/' "$1"; }
command_of() { sed -n 's/^  "command": "kfuse \(.*\) -o DIR",$/\1/p' "$1"; }

# `again NAME WORDS…`: emits, then runs the command of that, both with all that they say.
again() {
    local name=$1 words
    shift
    run "$KFUSE" emit "$@" --name "$name" -o "$name"
    expect_status 0
    words=$(command_of "$name/$name.json")
    [ -n "$words" ] || fail "no command in $name.json"
    KFUSE_CACHE=$TMP/empty_$name run bash -c "exec \"\$KFUSE\" $words -o again_$name"
    expect_status 0
    diff -r -x "$name.json" "$name" "again_$name" || fail "made again by: $words"
    [ "$(unlike "$name/$name.json")" = "$(unlike "again_$name/$name.json")" ] ||
        fail "$name.json: $(diff "$name/$name.json" "again_$name/$name.json")"
}
says() { command_of "$1/$1.json" | grep -qF -- "$2" || fail "the command lacks $2: $(command_of "$1/$1.json")"; }
quick=(--device cpu --trials 2 --budget 1 --quiet)

again first 'x * y + 1' --shape 100x100 "${quick[@]}"
says first "--point 'BLOCK="
again sizes 'x * y + 1' --shape 1000x1000 "${quick[@]}"
says sizes '; 16384 BLOCK='
program=('layernorm(gelu(x @ w + b) + res, g, c)' --shape 64x64 --shape b=64 --shape g=64 --shape c=64)
again several "${program[@]}" --device cpu --no-tune
says several ' | rows:'
again way "${program[@]}" --device cpu --point 'a kernel for each reduction: NC=512 | rows:UNROLL=4 | BLOCK=4096'
says way "--point 'a kernel for each reduction: matmul:"
says way ' | BLOCK=4096,'
again params 'param a = 1; param b = 2; y = x * a; z = x.T + b; return y, z' --shape 5x7 --param a=-inf --param b=nan \
    --dtype bf16 --out-dtype f32 --round-each-op --math strict --device cpu --no-tune
again one 'tanh(x) * y' --shape 64x64 --device cpu --no-tune --format header
mkdir "its own"
sed "s/^.. knob.*__BLOCK__.*//" "$SOURCE/examples/kernels/saxpy.c" >"its own/file.c"
again file "its own/file.c" --knob '__BLOCK__ 512 1024' --shape 1000 --param a=-0.5 --point BLOCK=1024
says file "'its own/file.c' --knob '__BLOCK__ 512 1024' "
run "$KFUSE" dump --c "${program[@]}" --point 'a kernel for each reduction: NC=512 | UNROLL=4 | BLOCK=4096'
expect_out 'kernel 3 of 3'

# `wrong TEXT POINT`: what is no list of points.
wrong() { refused 2 "$1" emit "${program[@]}" --device cpu -o none --point "$2"; }
wrong "'' is no point for each of 2 kernels" 'NC=512 | UNROLL=4;'
wrong "'64x64x64' is no point" 'NC=512 | UNROLL=4;64x64x64'
wrong "a point for sm_90, which --arch does not list" 'NC=512 | UNROLL=4; sm_90 NC=512 | UNROLL=4'
wrong "'64x64': this kernel is tuned by 3 sizes" 'NC=512 | UNROLL=4; 64x64 NC=512 | UNROLL=4'
for sizes in 64x-1x64 64x0x64 64x64x 64x64x64x64 64x64x9223372036854775807 64x64x99999999999999999999; do
    wrong "'$sizes': this kernel is tuned by 3 sizes" "NC=512 | UNROLL=4; $sizes NC=512 | UNROLL=4"
done
for arch in sm_90NC=512 'sm_ 90 NC=512' 'sm_9999 NC=512' 'sm_9 NC=512'; do
    wrong "no knob is called 'sm_" "NC=512 | UNROLL=4; $arch | UNROLL=4"
done
wrong "UNROLL cannot be '77'" 'NC=512 | UNROLL=4; 64x64x64 NC=512 | UNROLL=77'
wrong 'there are 3 points' 'fewest kernels: NC=512 | UNROLL=4 | BLOCK=4096'
wrong 'the program is 3 kernels, and there is 1 point' 'a kernel for each reduction: NC=512'

# For GPUs, with a point of its own for what has no clusters.
run "$KFUSE" emit 'relu(x)' --shape 8 --no-tune -o relu
[ "$status" = 4 ] && { echo 'no NVRTC here: CUDA is not emitted'; exit 0; }
again cluster 'layernorm(x, g, b)' --shape 64x65536 --shape g=65536 --shape b=65536 --dtype bf16 --arch sm_80,sm_90 --no-tune
says cluster '; sm_80 64x65536 rows:'
again default 'softmax(x)' --shape 64x1000 --no-tune
says default '--arch sm_80,sm_90 --point '
again architectures 'gelu(x + b)' --shape 1024x64 --shape b=64 --dtype bf16 --arch sm_80,sm_90 \
    --point 'VEC=4; sm_80 VEC=8,BLOCK=128;sm_90 1024x64 VEC=2; sm_90  4096x64   VEC=1'
says architectures '; sm_90 4096x64 generated:VEC=1,'

# Results from elsewhere that are wrong, with right checksums: they are judged before they count, refused, and searched
# anew (field reports 56 and 95); nothing of them is obeyed, neither by kfuse nor by a terminal.
here() { KFUSE_CACHE=$TMP/$1; }
# `edited FROM TO SED-SCRIPT`: sums made right again.
edited() { sed -E "$3" "$1" | "$CHECKSUM" >"$2"; }
binary_of() { grep -E "$1" with.jsonl | head -1 | sed -E 's/.*"binary":"([0-9a-f]*)".*/\1/'; }
words=(--shape 1000x40 --device cpu --trials 2 --budget 1 --quiet)

here made
for number in 2 3; do
    run "$KFUSE" "x * $number" "${words[@]}"
    expect_status 0
    printf '%s\n' "$out" | grep ^winner >winner$number
done
run "$KFUSE" cache export with.jsonl --binaries
"$CHECKSUM" <with.jsonl | cmp -s - with.jsonl || fail 'these are other checksums'
ir() { grep "\"expression\":\"x \* $1\"" with.jsonl | grep -o 'ir=[0-9a-f]*'; }
ir2=$(ir 2) ir3=$(ir 3)
[ -n "$ir2" ] && [ "$ir2" != "$ir3" ] || fail 'two programs of one key'

npy x.npy f32 1000x40 1.5
# `judged NAME REASON`: x * 2 with what NAME.jsonl brings is right, and says what of it was not.
judged() {
    here "$1"
    run "$KFUSE" cache import "$1.jsonl" --binaries
    expect_status 0
    run "$KFUSE" 'x * 2' "${words[@]}"
    expect_status 0
    expect_out "$2"
    run "$KFUSE" run 'x * 2' x=x.npy -o out.npy "${words[@]:2}"
    expect_status 0
    [ "$(npy out.npy | tr ' ' '\n' | tail -n +3 | sort -u)" = 3 ] || fail "$1: not 3"
}
# A kernel that is another program's, one that is no program, one that is cut.
label=$(sed 's/^winner *//; s/   *(tie.*//; s/  .*//; s/ /,/g' winner2)
other=$(binary_of "$ir3.*\"point\":\"$label\"")
if [ -n "$other" ]; then
    awk -v ir="$ir2" -v other="$other" 'index($0, ir) && /"binary"/ && /"point":"BLOCK/ { sub(/"binary":"[0-9a-f]*"/, "\"binary\":\"" other "\"") } 1' with.jsonl |
        "$CHECKSUM" >other.jsonl
    judged other 'gave a wrong result'
fi
edited with.jsonl none.jsonl '/"point":"BLOCK/s/"binary":"[0-9a-f]*"/"binary":"7f454c46"/'
judged none 'could not be launched'
# Points that there are none of; times that are none; another device and another compiler.
null=('x * 2' --shape 1000x40 --device null --trials 2 --quiet)
here null
run "$KFUSE" "${null[@]}"
run "$KFUSE" cache export null.jsonl
edited null.jsonl point.jsonl 's/"point":"BLOCK=[0-9]*/"point":"BLOCK=7/; s/"winner":"BLOCK=[0-9]*/"winner":"BLOCK=7/'
edited null.jsonl time.jsonl 's/"time":[0-9.e-]+/"time":1e-30/; s/"time":"[0-9.e-]+"/"time":"1e-30"/'
edited null.jsonl device.jsonl 's/device=null/device=elsewhere/'
edited null.jsonl compiler.jsonl 's/compiler=null/compiler=elsewhere/'
for wrong in point time device compiler; do
    here $wrong
    run "$KFUSE" cache import $wrong.jsonl
    expect_status 0
    run "$KFUSE" "${null[@]}"
    expect_status 0
    expect_out 'tried      2 candidates: 2 right' # a search
    case $wrong$out in time*) ;; *imported*) fail "used: $wrong" ;; esac
done

# Control characters, buckets and architectures of any size: shown as blanks, left out, and emit ends.
[ "$(uname -m)" = x86_64 ] || skip 'emit is tried with x86'
edited with.jsonl odd.jsonl 's/device=cpu /device=cpu \\u001b[31m\\u007f/; s/"device":"AMD/"device":"\\u0007AMD/; s/"shape":"1000x40/"shape":"\\u001b1000x40/'
edited odd.jsonl odd2.jsonl 's/bucket=[0-9]*/bucket=9223372036854775807/'
edited with.jsonl odd3.jsonl 's/bucket=[0-9]*/bucket=4611686018427387904/'
edited with.jsonl odd4.jsonl 's/device=[^\\]*/device=cuda 99999999999.9/'
edited with.jsonl odd5.jsonl 's/device=[^\\]*/device=null/'
here odd
for file in odd.jsonl odd[2-5].jsonl; do
    run "$KFUSE" cache import $file
    expect_status 0
done
# `plain WORDS…`: ends soon, without control characters.
plain() {
    run timeout 20 "$KFUSE" "$@"
    expect_status 0
    [ "$out" = "$(printf '%s\n' "$out" | tr -d '\000-\011\013-\037\177')" ] || fail "control characters from $*"
}
plain cache ls
plain cache show ''
plain emit 'x * 2' --shape 1000x40 --device cpu --no-tune --name a -o a
[ "$(printf '%s\n' "$out" | grep -c '^point ')" = 2 ] || fail 'the default, and one for the large bucket'
here why
run "$KFUSE" cache import odd.jsonl
plain why 'x * 2' --shape 1000x40 --device cpu
expect_out 'differs  device'

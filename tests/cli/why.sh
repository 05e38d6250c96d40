# kfuse why: whether the store answers, and which field of the nearest key differs. Nothing is compiled or measured.
problem='sigmoid(x) * y'

why() {
    run "$KFUSE" why "$@" --device "$device"
    expect_status 0
}
why "$problem" --shape 50x50
expect_out 'not stored, nor is anything of this program'
tune "$problem" --shape 50x50 --quiet
why "$problem" --shape 50x50
expect_out 'answer     stored: '
before=$("$KFUSE" cache ls)

# What differs is named, and nothing else.
differs() { # FIELD HERE THERE OPTIONS…
    local field=$1 here=$2 there=$3
    shift 3
    why "$problem" "$@"
    expect_out 'answer     none'
    expect_out 'the nearest is '
    [ "$(printf '%s\n' "$out" | grep -c '^  differs  '"$field")" = 1 ] || fail "$field is not named"
    printf '%s\n' "$out" | grep -qx "    here   $here" || fail "not here: $here"
    printf '%s\n' "$out" | grep -qx "    there  $there" || fail "not there: $there"
}
only() { [ "$(printf '%s\n' "$out" | grep -c '^  differs')" = "$1" ] || fail "not $1 fields: $out"; }
differs mode hot cold --shape 50x50 --hot
only 1
differs bucket 1048576 4096 --shape 1000x1000
only 1
differs bucket '2500 exact' 4096 --shape 50x50 --exact
only 1
differs math fast default --shape 50x50 --math fast
differs class '.*f16.*' '.*f32.*' --shape 50x50 --dtype f16

# Another shape of the bucket; a search that asks for more.
why "$problem" --shape 50x51
expect_out 'another shape of the bucket'
why "$problem" --shape 50x50 --effort full
expect_out 'it goes on from there'
[ "$("$KFUSE" cache ls)" = "$before" ] || fail 'why has changed the store'

# What another device measured: its name differs. What was imported for this one is judged first.
if [ "$device" = cpu ]; then
    export KFUSE_CPU_ISA=x86-64-v2
    differs device 'cpu .* x86-64-v2 .*' 'cpu .*' --shape 50x50
    unset KFUSE_CPU_ISA
fi
run "$KFUSE" cache export all.jsonl
export KFUSE_CACHE=$TMP/there
run "$KFUSE" cache import all.jsonl
why "$problem" --shape 50x50
expect_out 'what was imported is judged and timed on this device first'

# Mistakes are those of the program's own command line.
run "$KFUSE" why
expect_status 2
run "$KFUSE" why 'x +' --shape 5
expect_status 1
refused 2 "no knob is called 'SIZE'" why "$problem" --shape 5 --device "$device" --point SIZE=7
run "$KFUSE" why "$problem" --shape 0x5 --device "$device"
expect_status 0
expect_out 'nothing to tune'

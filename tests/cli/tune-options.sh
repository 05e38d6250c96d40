# Options of the search.
problem='sigmoid(x) * y'
words='--shape 50x50'

tune "$problem" $words --json
tuned "$problem" $words --json --retune
expect_json cached false
expect_json candidates 2
[ "$(json compiled)" -gt 0 ] || fail "--retune compiled nothing"

# --point: only this candidate; what an earlier run stored stays.
point='BLOCK=65536,UNROLL=2' shown='*"BLOCK":65536*"UNROLL":2*'
[ "$device" = cpu ] || point='BLOCK=256,UNROLL=2' shown='*"BLOCK":256*"UNROLL":2*'
tuned "$problem" $words --json --point $point
expect_json candidates 1
case $(json winner) in $shown) ;; *) fail "winner is $(json winner)" ;; esac
tuned "$problem" $words --json
expect_json cached true

# --trials, --strategy, --seed, --jobs
for strategy in grid random auto; do
    run "$KFUSE" "$problem" --shape 50x51 --exact --device "$device" --strategy $strategy --trials 3 --seed 7 --jobs 1 --budget 30 --json --quiet --retune
    expect_status 0
    expect_json candidates 3
done
# The same seed asks for the same points.
points() {
    run "$KFUSE" cache clear
    expect_status 0
    run "$KFUSE" "$problem" $words --device "$device" --strategy random --trials 6 --seed "$1" --budget 60 --quiet --jobs 1
    expect_status 0
    "$KFUSE" cache show '' | grep '^  ' | grep -o 'BLOCK=[^ ]*' | sort -u >"$2"
    [ "$(wc -l <"$2")" -ge 3 ] || fail "not the points in the store: $(cat "$2")" # of the same code: one
}
points 1 first
points 1 second
points 2 other
cmp -s first second || fail "seed 1 asked for other points the second time"
! cmp -s first other || fail "seeds 1 and 2 ask for the same points"

# --stop-at: no more than it takes to get there; the same is then answered, and who asks for more gets it.
stopping() { run "$KFUSE" "$problem" --shape 300x300 --device "$device" --trials 12 --jobs 1 --budget 30 --quiet "$@"; }
stopping --stop-at 1%
expect_status 0
expect_out 'ended where --stop-at said, '
stopping --stop-at 1 --json
expect_json cached true
[ "$(json candidates)" -lt 12 ] || fail "--stop-at 1 % tried all"
stopping --json
expect_json cached false
expect_json candidates 12
for part in 0 0.9 -3 101 nan 90%% x; do
    run "$KFUSE" x --shape 3 --stop-at $part
    expect_status 2
    expect_err "--stop-at takes a part of the roof, as in 90%, not '$part'"
done

# --hot is another way to measure, and says so.
tuned "$problem" $words --hot
expect_out 'hot'
# --effort full tries what quick leaves.
tuned "$problem" $words --retune --json --effort quick
# plain lines where stderr is no terminal, none with --quiet
run "$KFUSE" "$problem" --shape 40 --device "$device" --trials 4 --budget 30
expect_status 0
expect_err '/4 tried'
# -f FILE and -f -
printf '%s\n' '# a program' "$problem" >program.kf
tuned -f program.kf $words
expect_out "sigmoid(x) * y"
run bash -c 'printf "x + 1" | "$KFUSE" -f - --shape 8 --device "$0" --trials 1 --quiet' "$device"
expect_status 0
expect_out 'x + 1'

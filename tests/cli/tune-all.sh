# `kfuse tune-all FILE`: a list on several devices, each line once, a summary; ended and begun again it does what
# is left; shards are the whole.
null=(--device null --trials 2 --quiet)
cat >list.txt <<'END'
# a comment, then a blank line

'relu(x + y)' --shape 64x33
gelu(x) --shape 40 --dtype "bf16"   # types and shapes are the line's own
'relu(x' --shape 4
'tanh(x)' --shape 100
'exp(x)' --shape 100 --nonsense
-f program.kf --shape 12
END
echo 'y = x * sigmoid(x) + 1' >program.kf

# A line each, the failed ones with the reason; what they had to say; the first failure's status.
run "$KFUSE" tune-all list.txt --device null --trials 2
expect_status 1
[ "$(printf '%s\n' "$out" | grep -c '^list.txt:[0-9]*  tuned ')" = 4 ] || fail 'four lines were to be tuned'
expect_out 'list.txt:3  tuned   64x33 f32'
expect_out 'list.txt:4  tuned   40 bf16'
expect_out 'list.txt:5  failed  exit 1: error: unexpected end of the text'
expect_out "list.txt:7  failed  exit 2: unknown option '--nonsense'"
expect_out 'list.txt:8  tuned   12 f32'
expect_out '6 lines: 4 tuned, 0 were in the store, 2 failed'
expect_err "note: this '(' is not closed"
expect_err 'list.txt:5: not tuned'
expect_err '6/6  '
expect_no_process

# Again: only what failed is tried.
run "$KFUSE" tune-all list.txt "${null[@]}" --json
expect_status 1
[ "$(printf '%s\n' "$out" | grep -c '"outcome":"stored"')" = 4 ] || fail 'four lines were to be in the store'
expect_out '"reason":"error: unexpected end of the text'
expect_out '{"lines":6,"tuned":0,"stored":4,"failed":2,"left":0}'
case $err in *6/6*) fail '--quiet and yet progress' ;; esac

# Three processes: every line once, by more than one of them.
for n in $(seq 40); do echo "'x * $n + y' --shape ${n}x$n"; done >many.txt
run "$KFUSE" tune-all many.txt --devices null,null,null --trials 2 --json --quiet
expect_status 0
expect_no_err
expect_out '{"lines":40,"tuned":40,"stored":0,"failed":0,"left":0}'
[ "$(printf '%s\n' "$out" | grep -o '"process":[0-9]*' | sort -u | wc -l)" -gt 1 ] || fail 'one process did it all'
run "$KFUSE" cache ls
[ "$(printf '%s\n' "$out" | grep -c ' x \* [0-9]* + y ')" = 40 ] || fail 'not each line'

# Shards, each with a store of its own: together they are the list, whatever each finds done.
store=$KFUSE_CACHE
for shard in 1 2 3; do
    KFUSE_CACHE=$TMP/shard$shard run "$KFUSE" tune-all many.txt "${null[@]}" --shard $shard/3
    expect_status 0
    expect_out "shard $shard/3 of 40 lines: $((shard == 1 ? 14 : 13)) lines: "
    printf '%s\n' "$out" | grep -o '^many.txt:[0-9]*' >>shards
done
[ "$(sort -u shards | wc -l)" = 40 ] && [ "$(wc -l <shards)" = 40 ] || fail 'shards overlap, or leave out'
KFUSE_CACHE=$TMP/merged
run "$KFUSE" cache merge shard1/kfuse.db shard2/kfuse.db shard3/kfuse.db
expect_status 0
run "$KFUSE" tune-all many.txt "${null[@]}"
expect_out '40 lines: 40 tuned, 0 were'
[ "$(KFUSE_CACHE=$TMP/merged "$KFUSE" cache ls | grep -c imported)" = 0 ] || fail 'something was not judged'
KFUSE_CACHE=$store

# --devices all is this machine's GPUs, or its CPU.
if [ "$device" = cpu ]; then
    head -n 3 list.txt >first.txt
    run "$KFUSE" tune-all first.txt --devices all --trials 1 --quiet --budget 1
    expect_out '1 line: 1 tuned'
fi

# start LINES WORDS…: in the background, until so many lines are done.
start() {
    local lines=$1 i
    shift
    "$KFUSE" tune-all "$@" >"$TMP/.out" 2>"$TMP/.err" &
    pid=$!
    for i in $(seq 500); do
        [ "$(grep -c '^[0-9]*/[0-9]*  ' "$TMP/.err")" -lt "$lines" ] || return 0
        sleep 0.02
    done
    fail "too few lines were done: $(cat "$TMP/.err")"
}
finish() { status=0; wait $pid || status=$?; out=$(cat "$TMP/.out"); err=$(cat "$TMP/.err"); }
fresh() { KFUSE_CACHE=$(mktemp -d -p "$TMP"); }
figure() { printf '%s\n' "$out" | tail -1 | grep -oE "[0-9]+ $1" | cut -d' ' -f1; }

# Ctrl-C, to the parent or to all as a terminal's: no process is left, the summary says what is left.
for n in $(seq 100); do echo "'tanh(x) * $n' --shape $((500 + n))"; done >long.txt
for how in "INT " "TERM " "INT -"; do
    fresh
    set -m
    start 1 long.txt --devices cpu,cpu --budget 1
    set +m
    kill -${how% *} -- "${how#* }$pid"
    finish
    expect_status 130
    expect_no_process
    [ "$(figure left)" -gt 90 ] || fail "left: $(figure left)"
    expect_err "kfuse: interrupted: $(figure left) lines are left, which the same command does when run again"
    run "$KFUSE" cache ls
    expect_status 0
done

# Killed, and begun again: what is done is answered, the rest is done.
fresh
start 3 long.txt --device null --trials 2
kill -9 $pid
finish 2>/dev/null
expect_no_process
run "$KFUSE" tune-all long.txt "${null[@]}"
expect_status 0
[ "$(figure 'were in the store')" -ge 3 ] || fail 'nothing was kept'
[ $(($(figure tuned) + $(figure 'were in the store'))) = 100 ] || fail 'not all lines'

# A process that dies takes one line with it.
fresh
head -n 3 long.txt >three.txt
start 1 three.txt --device cpu --budget 1
sleep 0.3
kill -9 "$(cat /proc/$pid/task/$pid/children)"
finish
expect_no_process
expect_status 4
expect_out 'exit 4: its process was ended by signal 9'
expect_out '3 lines: 2 tuned, 0 were in the store, 1 failed'

# What is wrong for every line is told by each process, and ends it.
run "$KFUSE" tune-all three.txt --devices null,null --ops nowhere.kf
expect_status 1
expect_err 'nowhere.kf'
expect_out '3 lines: 0 tuned, 0 were in the store, 0 failed, 3 left'

: >nothing.txt
run "$KFUSE" tune-all nothing.txt --device null
expect_status 0
expect_out '0 lines: 0 tuned'
mkdir folder
refused 1 "cannot read 'nowhere.txt'" tune-all nowhere.txt
refused 1 "cannot read 'folder': Is a directory" tune-all folder
refused 2 'tune-all which file?' tune-all
refused 2 'one word too many' tune-all list.txt many.txt
for shard in 0/3 4/3 1 1/0 -1/3 1/3x a/b; do refused 2 '--shard takes I/N' tune-all list.txt --shard $shard; done
refused 2 'go with kfuse tune-all' warm list.txt --shard 1/2
refused 2 'go with kfuse tune-all' 'x' --shape 4 --devices all
refused 4 "unknown device 'abacus'" tune-all list.txt --devices null,abacus
refused 4 'there is no device null:7' tune-all list.txt --devices null:7
refused 2 '--devices names none' tune-all list.txt --devices ''

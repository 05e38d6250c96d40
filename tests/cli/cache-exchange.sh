# `kfuse cache export`, `import`, `merge`: results go from store to store, and are judged before they count.
here() { KFUSE_CACHE=$TMP/$1; }
problem='tanh(x) * 2'
line=("$problem" --shape 64x33 --device null --quiet)

# Out and in again is the same text, here from the store beside the one that imports.
here a
tuned "$problem" --shape 33
run "$KFUSE" "${line[@]}"
expect_status 0
winner=$(printf '%s\n' "$out" | grep ^winner)
run "$KFUSE" cache export a.jsonl
expect_status 0
expect_out 'a.jsonl: '
run "$KFUSE" cache export
expect_status 0
printf '%s\n' "$out" | cmp -s - a.jsonl || fail 'to standard output it is another text'
here b
run "$KFUSE" cache import a.jsonl
expect_status 0
expect_out ' results imported'
run "$KFUSE" cache import a.jsonl
expect_out 'a.jsonl: 0 results imported, '
run "$KFUSE" cache export again.jsonl
cmp -s a.jsonl again.jsonl || fail 'what waits to be judged is not passed on'
KFUSE_CACHE=$TMP/b/imported run "$KFUSE" cache export again.jsonl
cmp -s a.jsonl again.jsonl || fail 'what came in is not what went out'
[ -z "$(ls ./*.tmp 2>/dev/null)" ] || fail 'a file is left behind'

# It is listed as what it is; then judged and timed here: one point, compiled here; then it is of here.
run "$KFUSE" cache ls
[ "$(printf '%s\n' "$out" | grep -c imported)" = 2 ] || fail 'two problems are imported'
run "$KFUSE" "${line[@]}"
expect_status 0
expect_out 'tried      1 candidate: 1 right'
expect_out 'an imported result was judged and timed here'
expect_out "$winner"
run "$KFUSE" "${line[@]}" --json
expect_json cached true
tuned "$problem" --shape 33 --json
expect_json compiled 1
expect_json candidates 1
run "$KFUSE" cache ls
case $out in *imported*) fail 'all has been judged' ;; esac

# A store's own database brings its binaries: nothing is compiled. --binaries does it for lines, on both sides.
here merged
run "$KFUSE" cache merge a/kfuse.db
expect_status 0
tuned "$problem" --shape 33 --json
expect_json compiled 0
expect_json cached false
here a
run "$KFUSE" cache export with.jsonl --binaries
for side in '' --binaries; do
    here "lines$side"
    run "$KFUSE" cache import with.jsonl $side
    expect_status 0
    tuned "$problem" --shape 33 --json
    expect_json compiled "$([ -n "$side" ] && echo 0 || echo 1)"
done

# What is wrong here is not answered, whatever was said elsewhere: a search follows, which knows it.
here wrong
run "$KFUSE" cache import a.jsonl
label=$(printf '%s\n' "$winner" | sed 's/^winner *//; s/   *(tie.*//; s/  .*//; s/ /,/g')
run env KFUSE_FAULT="wrong@$label" "$KFUSE" "${line[@]}"
expect_status 0
expect_out ' 1 gave a wrong result'
case $out in *"$winner"*) fail 'a wrong point is the winner' ;; esac
here wrong2
run "$KFUSE" cache import a.jsonl
run env KFUSE_FAULT="wrong@$label" "$KFUSE" "${line[@]}" --no-tune
expect_status 0
expect_out 'tried      2 candidates: 1 right, 1 gave a wrong result' # the analytic default

# One that is better elsewhere races the one of here; one that is not is left out, and a second run answers.
problem2=('exp(x) + y' --shape 200x50 --device null --quiet)
here short
run "$KFUSE" "${problem2[@]}" --trials 1 --json
slow=$(json time_us)
run "$KFUSE" cache export short.jsonl
here long
run "$KFUSE" "${problem2[@]}" --effort full --json
best=$(json winner) fast=$(json time_us)
awk "BEGIN { exit !($fast < $slow) }" || fail "a full search finds nothing better: $fast, $slow"
run "$KFUSE" cache export long.jsonl
run "$KFUSE" cache import short.jsonl
expect_out '1 are slower than what is here'
run "$KFUSE" "${problem2[@]}" --json
expect_json cached true
here short
run "$KFUSE" cache import long.jsonl
run "$KFUSE" cache ls
expect_out imported
run "$KFUSE" "${problem2[@]}" --trials 1 --json
expect_json candidates 2
expect_json winner "$best"
run "$KFUSE" "${problem2[@]}" --trials 1 --json
expect_json cached true
expect_json winner "$best"

# A search that ended where --stop-at said answers elsewhere who asks for no more than that.
part=('sigmoid(x) * y' --shape 300x300 --device null --effort full --quiet)
here part
run "$KFUSE" "${part[@]}" --stop-at 1%
expect_out 'ended where --stop-at said'
run "$KFUSE" cache export part.jsonl
here parts
run "$KFUSE" cache import part.jsonl
for cached in false true; do
    run "$KFUSE" "${part[@]}" --stop-at 1% --json
    expect_json cached $cached
    expect_json candidates 1
done
run "$KFUSE" "${part[@]}"
case $out in *'tried      1 candidate'*) fail 'no search' ;; esac

# Another device's results are kept for it, and change nothing here.
here other
run "$KFUSE" cache import long.jsonl
tuned "${problem2[@]:0:3}" --json
expect_json compiled 2
run "$KFUSE" cache ls
expect_out '(null)  imported'
# A line that somebody has changed by hand
sed 's/device=null/device=cpu/' long.jsonl >changed.jsonl
run "$KFUSE" cache import changed.jsonl
expect_status 1
expect_err 'changed.jsonl:2: its checksum is wrong; nothing was imported'

# Damage, the line's number, nothing kept.
here damaged
head -c -20 a.jsonl >cut.jsonl
sed '$d' a.jsonl >early.jsonl
{ head -1 a.jsonl; head -c 100000000 /dev/zero | tr '\0' x; } >long-line.jsonl
count=$(wc -l <a.jsonl)
for case in "cut.jsonl:$count: the file ends inside" "early.jsonl:$count: the file ends early" \
    'long-line.jsonl:2: longer than 32 MiB'; do
    run "$KFUSE" cache import "${case%%:*}"
    expect_status 1
    expect_err "$case"
    [ "$(printf '%s\n' "$err" | wc -l)" = 1 ] || fail 'more than one line'
    run "$KFUSE" cache ls
    expect_no_out
done
: >empty.jsonl
mkdir folder
refused 1 'empty.jsonl:1: the file is empty' cache import empty.jsonl
refused 1 "cannot read 'nowhere.jsonl'" cache import nowhere.jsonl
refused 1 'folder:1: the file cannot be read' cache import folder
run "$KFUSE" cache import - <&-
expect_status 1
expect_err '<stdin>:1: the file cannot be read'
refused 1 'a.jsonl: is no store of kfuse' cache merge a.jsonl
refused 1 'No such file' cache merge nowhere.db
run "$KFUSE" cache merge wrong/kfuse.db
run "$KFUSE" cache merge "$KFUSE_CACHE/imported/kfuse.db"
expect_status 0
expect_out ': 0 results imported, '
refused 4 "cannot write 'missing/out.jsonl'" cache export missing/out.jsonl
refused 2 'cache ls | show KEY' cache import
refused 2 'cache ls | show KEY' cache merge
refused 2 '--binaries goes with' cache merge a/kfuse.db --binaries
refused 2 '--binaries goes with' x --shape 4 --binaries
sed 's/$/\r/' a.jsonl >windows.jsonl
run "$KFUSE" cache import windows.jsonl
expect_status 0
run "$KFUSE" cache import - <a.jsonl
expect_status 0
expect_out '<stdin>: '
run "$KFUSE" cache clear
run "$KFUSE" cache ls
expect_no_out

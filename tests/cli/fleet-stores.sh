# Stores of a fleet: what is not kept is a failure, what cannot be written can be read, merges at once, with itself, and of
# another schema.
for n in $(seq 20); do echo "'x * $n' --shape 64"; done >list.txt
words=(--device null --trials 2 --quiet)
for shard in 1 2 3; do
    KFUSE_CACHE=$TMP/shard$shard run "$KFUSE" tune-all list.txt "${words[@]}" --shard $shard/3
    expect_status 0
done

# All at once, each twice, while a list is tuned there.
KFUSE_CACHE=$TMP/merged
jobs=()
for shard in 1 2 3 1 2 3; do
    "$KFUSE" cache merge shard$shard/kfuse.db >merge$shard 2>&1 &
    jobs+=($!)
done
"$KFUSE" tune-all list.txt "${words[@]}" --shard 1/5 >tuned 2>&1 &
jobs+=($!)
for job in "${jobs[@]}"; do wait "$job" || fail "one of them failed: $(cat merge? tuned)"; done
run "$KFUSE" tune-all list.txt "${words[@]}"
expect_status 0
[ "$("$KFUSE" cache ls | grep -c ' x \* ')" = 20 ] || fail 'not each line'
run "$KFUSE" tune-all list.txt "${words[@]}"
expect_out '20 lines: 0 tuned, 20 were in the store'

# A store merged into itself is as it was.
run "$KFUSE" cache export before.jsonl
run "$KFUSE" cache merge merged/kfuse.db merged/imported/kfuse.db merged/kfuse.db
expect_status 0
case $out in *' 0 results imported'*' 0 results imported'*' 0 results imported'*) ;; *) fail 'something came in' ;; esac
run "$KFUSE" cache export -
printf '%s\n' "$out" | cmp -s - before.jsonl || fail 'it is another store'

# Of another schema; only read.
cp shard1/kfuse.db other.db
printf '\0\0\0\7' | dd of=other.db bs=1 seek=60 conv=notrunc status=none
sum=$(cksum <other.db)
run "$KFUSE" cache merge other.db
expect_status 1
[ "$err" = 'kfuse: other.db has schema 7 and this kfuse knows 1; nothing was merged' ] || fail 'not what is wrong'
[ "$sum" = "$(cksum <other.db)" ] || fail 'it was written to'

# What a list finds and cannot keep has failed, and is told; with all answered there is nothing to keep.
: >file
KFUSE_CACHE=$TMP/file/below
run "$KFUSE" tune-all list.txt "${words[@]}" --shard 1/10
expect_status 4
expect_out "exit 4: $TMP/file/below cannot be made"
expect_out '2 lines: 0 tuned, 0 were in the store, 2 failed'
run "$KFUSE" warm list.txt "${words[@]}"
expect_status 4
expect_err "$TMP/file/below cannot be made"
nobody() { if [ "$(id -u)" = 0 ]; then setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; else "$@"; fi; }
cp -r merged readonly
chmod -R a+rX "$TMP" && chmod -R a-w readonly
KFUSE_CACHE=$TMP/readonly
nobody "$KFUSE" --version >/dev/null 2>&1 || skip 'nobody cannot run it here'
run nobody "$KFUSE" tune-all list.txt "${words[@]}"
expect_status 0
echo "'x * 21' --shape 64" >more.txt
run nobody "$KFUSE" tune-all more.txt "${words[@]}"
expect_status 4
expect_out 'cannot be written; results are not kept'
run nobody "$KFUSE" cache ls
expect_status 0
expect_out ' x * 20 '
run nobody "$KFUSE" cache export
expect_status 0
printf '%s\n' "$out" | cmp -s - before.jsonl || fail 'it is another export'
run nobody "$KFUSE" cache import before.jsonl
expect_status 4
expect_err 'cannot be written'
chmod -R u+w readonly

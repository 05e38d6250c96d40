# All processes of a run together stay within four times the program's arrays and 600 MiB (proportional set size).
limit=$((4 * 192 * 1024 + 600 * 1024)) # KiB; relu(x+res) at 4096x4096 f32 has arrays of 192 MiB

family() { local pid; for pid in "$@"; do echo "$pid"; family $(pgrep -P "$pid"); done; }
pss() { awk '/^Pss:/ { sum += $2 } END { print sum + 0 }' $(for pid in $(family "$1"); do echo "/proc/$pid/smaps_rollup"; done) 2>/dev/null; }

"$KFUSE" 'relu(x+res)' --shape 4096x4096 --device cpu --effort quick --budget 4 >"$TMP/report" 2>&1 &
kfuse=$!
peak=0
while kill -0 "$kfuse" 2>/dev/null; do
    now=$(pss "$kfuse") || now=0
    [ "${now:-0}" -le "$peak" ] || peak=$now
    sleep 0.1
done
wait "$kfuse" || fail "kfuse failed: $(cat "$TMP/report")"
[ "$peak" -gt $((192 * 1024)) ] || fail "only $peak KiB seen: what was measured?"
echo "peak $peak KiB of $limit"
[ "$peak" -le "$limit" ] || fail "$peak KiB of memory, at most $limit"

# Parent and workers together stay under four times the arrays' bytes plus 600 MiB (proportional set size), at
# 4096x4096: three arrays of 64 MiB.
limit=$((4 * 192 + 600))
"$KFUSE" 'relu(x+res)' --shape 4096x4096 --effort quick --device "$device" --quiet >report.txt 2>&1 &
pid=$!
peak=0
while kill -0 $pid 2>/dev/null; do
    sum=0
    for process in $(processes); do
        kib=$(awk '/^Pss:/ { print $2 }' "/proc/$process/smaps_rollup" 2>/dev/null) || true
        sum=$((sum + ${kib:-0}))
    done
    [ $sum -gt $peak ] && peak=$sum
    sleep 0.05
done
wait $pid || fail "exit $?: $(cat report.txt)"
echo "peak $((peak / 1024)) MiB, limit $limit MiB"
[ $peak -gt 0 ] || skip "no smaps_rollup here"
[ $((peak / 1024)) -le $limit ] || fail "$((peak / 1024)) MiB at the peak, over $limit"

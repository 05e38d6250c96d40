# pytorch #121197, #105832: a compile pool ignores the limits of its container. More jobs than CPUs are not started.
"$KFUSE" 'tanh(x) * exp(y)' --shape 64x64 --device "$device" --jobs 64 --effort full --budget 8 --quiet >out.txt 2>&1 &
pid=$!
most=0
while kill -0 $pid 2>/dev/null; do
    count=$(processes | wc -l)
    [ "$count" -gt $most ] && most=$count
    sleep 0.02
done
wait $pid || fail "exit $?: $(cat out.txt)"
[ $most -gt 1 ] || fail "no worker was seen"
[ $most -le $(($(nproc) + 2)) ] || fail "$most processes on $(nproc) CPUs" # kfuse, the measuring worker

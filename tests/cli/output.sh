# stdout that cannot be written is an error, not silence; a closed pipe is no crash.
for words in 'devices' 'ops' 'cache path' 'dump --ir x+1 --shape 4' '--help' '--version'; do
    status=0
    "$KFUSE" $words >/dev/full 2>err.txt || status=$?
    [ $status = 4 ] || fail "exit $status: kfuse $words >/dev/full"
    grep -q 'cannot write to standard output' err.txt || fail "not said: kfuse $words >/dev/full"
    [ "$(wc -l <err.txt)" = 1 ] || fail "more than one line: kfuse $words >/dev/full"
done
status=0
"$KFUSE" 'x + 1' --shape 9 --device "$device" --trials 1 --quiet >/dev/full 2>err.txt || status=$?
[ $status = 4 ] || fail "exit $status: a report to /dev/full"
"$KFUSE" ops | head -1 >first.txt
[ -s first.txt ] || fail "nothing came through a pipe"
# stdin, stdout or stderr closed
"$KFUSE" 'x + 1' --shape 10 --device "$device" --trials 1 --quiet <&- >closed.txt 2>&1 || fail "fails without stdin"
"$KFUSE" 'x + 1' --shape 11 --device "$device" --trials 1 2>&- >closed.txt || fail "fails without stderr"
status=0
"$KFUSE" cache ls >&- 2>err.txt || status=$?
[ $status = 4 ] || fail "exit $status: a list to nowhere"
[ ! -s "$KFUSE_CACHE/kfuse.lock" ] || fail "what was printed is in a file of the store's"
expect_no_process

# KernelTuner #282: another winner every run. Nine of ten the same, or the report says that it is a tie.
same=0
for i in $(seq 10); do
    run "$KFUSE" 'relu(x+res)' --shape 1024x1024 --device "$device" --effort quick --trials 6 --budget 15 --quiet --retune
    expect_status 0
    winner=$(printf '%s\n' "$out" | sed -n 's/^winner *\([^ ]*\( [A-Z]*=[^ ]*\)*\).*/\1/p')
    case $out in *'(tie with'*) same=$((same + 1)) ;; *) printf '%s\n' "$winner" >>winners.txt ;; esac
done
[ -s winners.txt ] && same=$((same + $(sort winners.txt | uniq -c | sort -rn | awk 'NR == 1 { print $1 }')))
echo "$same of 10"
least=9
[ "$device" = cpu ] && least=7 # whose neighbours make noise
[ $same -ge $least ] || fail "only $same of 10: $(sort winners.txt | uniq -c)"

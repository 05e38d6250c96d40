# Where a run's time went: --time says it on standard error, the JSON report has it; the phases explain the wall time,
# and an answer from the store starts no process.
phases() { json phases | tr -d '{}' | tr ',' '\n'; }
sum() { phases | awk -F: '{ sum += $2 } END { printf "%d", sum * 1e9 }'; }

begin=$(date +%s%N)
tuned 'relu(x + y)' --shape 20x30 --json --time
wall=$(($(date +%s%N) - begin))
expect_err 'one after another'
for phase in open store spawn plan compile candidates companions rank close; do expect_err "  $phase "; done
for beside in compilers gate self_test load edges whole timing rounds; do expect_err "  $beside "; done
[ "$(sum)" -le "$wall" ] || fail "phases of $(sum) ns in a run of $wall ns"
[ "$(sum)" -ge $((wall / 2)) ] || fail "phases explain $(sum) ns of $wall ns"

tuned 'relu(x + y)' --shape 20x30 --json
expect_no_err
expect_json cached true
for phase in spawn device compile candidates rank; do
    phases | grep -qx "\"$phase\":0.000000" || fail "an answer from the store took time for $phase"
done

# Nothing to tune takes time as well.
tuned 'relu(x + y)' --shape 0x30 --json
[ "$(sum)" -gt 0 ] || fail "no phase where there is no element"

# triton #9822: one candidate more invalidates what was measured of the others.
cp "$SOURCE/tests/templates/scale.c" .
values='32 64 128 256 512 1024 2048 4096 8192'
tuned_with() { run "$KFUSE" tune scale.c --shape 5000 --budget 60 --quiet --json --knob "__STEP__ $1"; expect_status 0; }
tuned_with "$values"
expect_json candidates 9
tuned_with "$values 16384"
expect_json cached false
expect_json candidates 10
[ "$(json compiled)" -lt 10 ] || fail "all of them were compiled again"
"$KFUSE" cache show '' >trials
grep -q 'STEP=16384' trials || fail "the new value was not tried"
# And one less: what is left is known.
tuned_with '32 64'
[ "$(json compiled)" -le 2 ] || fail "$(json compiled) compiled"

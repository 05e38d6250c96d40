# --no-tune never searches: the analytic default where nothing is stored, else the bucket's stored point, of
# which nothing is compiled. What it measures does not stand for a search.
device=cpu
untuned() { run "$KFUSE" 'relu(x + y)' --shape "$1" --no-tune --device cpu --quiet --json; expect_status 0; }

untuned 60x50
expect_json candidates 1
expect_json compiled 1
expect_json eager_us null
default=$(json winner)

tuned 'relu(x + y)' --shape 60x50 --json
expect_json candidates 2
best=$(json winner)

untuned 60x51
expect_json candidates 1
expect_json compiled 0
[ "$(json winner)" = "$best" ] || [ "$(json winner)" = "$default" ] || fail "neither the best nor the default"

# Another bucket knows nothing of this one.
untuned 600x510
expect_json compiled 1

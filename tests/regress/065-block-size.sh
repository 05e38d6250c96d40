# CLBlast PR #305: an illegal block size is found only at launch. It is pruned before anything is compiled.
sed 's/block = cpus/block = __STEP__/' "$SOURCE/tests/templates/scale.c" >block.c
run "$KFUSE" tune block.c --shape 5000 --budget 20 --quiet --json
expect_status 0
expect_json failed '{"infeasible":1}'
expect_json compiled 1

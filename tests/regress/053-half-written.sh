# triton #9230: candidates share one output; one that writes half of it passes because another filled the rest.
sed 's/knob     __STEP__ .*/knob __STEP__ 1024\n\/\/! knob __HALF__ 0 1/; s/i < n \&\& /i < (__HALF__ \&\& n > 4096 ? n \/ 2 : n) \&\& /' \
    "$SOURCE/tests/templates/scale.c" >half.c
run "$KFUSE" tune half.c --shape 5000 --budget 20 --quiet --json
expect_status 0
expect_json failed '{"wrong":1}'
expect_json winner '{"STEP":1024,"HALF":0}'

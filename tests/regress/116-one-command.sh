# microhh #89: tuning an existing kernel takes a written recipe of five steps. It is one command.
cp "$SOURCE/tests/templates/plain.c" .
run "$KFUSE" tune plain.c --kernel twice --input 'x[n] : f32' --output 'y[n] : like x' --args 'x y n' \
    --knob '__STEP__ 64 1024' --launch 'block = cpus' --computes 'y = 2 * x' --shape 1000 --budget 20 --quiet
expect_status 0
expect_out 'winner     twice:STEP='

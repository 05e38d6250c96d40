# kfuse emit FILE: a kernel of one's own, by its header, with a launcher that tests itself.
kernels=$SOURCE/examples/kernels
run "$KFUSE" emit "$kernels/saxpy.c" --shape 1000 --no-tune --name own -o own
expect_status 0
expect_out 'free: any extents'
if [ "$(uname -m)" = x86_64 ]; then
    flags='-O2 -march=native -std=gnu11 -fno-math-errno -fno-trapping-math -ftree-vectorize -ffp-contract=off -w'
    (cd own && cc $flags -c own_kernel.c -o k.o && cc -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -DKF_SELFTEST own.c k.o -lmvec -lm -lpthread -o test) ||
        fail 'does not compile'
    run own/test
    expect_status 0
    expect_out 'values of'
fi
command=$(grep -o '"command": "[^"]*"' own/own.json | cut -d'"' -f4)
case $command in "kfuse emit $kernels/saxpy.c "*) ;; *) fail "the manifest's command is $command" ;; esac

# Another point, parameter and type; a header's lines among the options.
run "$KFUSE" emit "$kernels/saxpy.c" --shape 1000 --dtype bf16 --param a=-0.5 --point BLOCK=4096 --name own -o own
expect_status 0
expect_out 'BLOCK=4096'
sed '/^.. knob/d' "$kernels/saxpy.c" >bare.c
run "$KFUSE" emit bare.c --knob '__BLOCK__ 512' --shape 1000 --no-tune -o bare
expect_status 0
expect_out 'BLOCK=512'

sed '/computes/d' "$kernels/saxpy.c" >silent.c
refused 1 'has no computes line' emit silent.c --shape 3 --no-tune -o none
refused 1 "cannot open 'none.c'" emit none.c --shape 3 -o none
refused 2 'one word too many' emit bare.c extra --knob '__BLOCK__ 512' --shape 3 -o none
refused 2 'go with kfuse tune FILE' emit x --knob '__BLOCK__ 512' --shape 3 -o none
refused 2 'cuda runs no C' emit "$kernels/saxpy.c" --shape 3 --device cuda -o none

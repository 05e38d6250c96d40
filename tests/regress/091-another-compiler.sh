# tinygrad #15709, chainer #1348: an old binary after the compiler changed.
[ "$device" = cpu ] || skip "the compiler of the cpu device"
tuned 'x * 3' --shape 64 --json
for other in gcc clang; do
    command -v $other >/dev/null || continue
    [ "$($other --version | head -1)" = "$($CC --version | head -1)" ] && continue
    CC=$other tuned 'x * 3' --shape 64 --json
    expect_json cached false
    CC=$other tuned 'x * 3' --shape 64 --json
    expect_json cached true
done
tuned 'x * 3' --shape 64 --json
expect_json cached true
# A wrapper with another version's name is another compiler.
printf '#!/bin/sh\n[ "$1" = --version ] && echo "cc 99.1 Free Software Foundation" && exit\nexec %s "$@"\n' "$CC" >wrapped
chmod +x wrapped
CC=$TMP/wrapped tuned 'x * 3' --shape 64 --json
expect_json cached false

# What `make install` leaves is enough: every example builds against it by pkg-config, with the shared library and
# with the static one, and the shortest runs (the others have tests of their own); the shared library shows kf_* alone, and brings no library but the system's.
prefix=$TMP/prefix
run cmake --install "$BUILD" --prefix "$prefix"
expect_status 0
for file in bin/kfuse bin/kfuse-worker include/kfuse.h share/man/man1/kfuse.1; do
    [ -f "$prefix/$file" ] || fail "not installed: $file"
done
[ "$(cd "$prefix/include" && echo *)" = kfuse.h ] || fail "more headers than kfuse.h are installed"
archive=$(find "$prefix" -name libkfuse.a)
libdir=$(dirname "$archive")
export PKG_CONFIG_PATH=$libdir/pkgconfig LD_LIBRARY_PATH=$libdir
pkg-config --exists kfuse || fail "pkg-config does not find kfuse"

foreign=$(nm -D --defined-only "$libdir/libkfuse.so" | awk '$NF !~ /^kf_/ { print $NF }')
[ -z "$foreign" ] || fail "libkfuse.so shows $foreign"
foreign=$(nm -g --defined-only "$archive" | awk 'NF == 3 && $3 !~ /^kf_/ { print $3 }')
[ -z "$foreign" ] || fail "libkfuse.a shows $foreign"

# try NAME COMPILER-WORDS…: builds the example in hand, and runs it if it is the shortest.
try() {
    kind=$1
    shift
    run "$CC" -std=c11 -Wall -Wextra -Werror "$example" -o example "$@" -lm
    [ "$status" = 0 ] || fail "$example does not build ($kind)"
    [ "${example##*/}" = embed.c ] || return 0
    run ./example
    [ "$status" = 0 ] || fail "$example fails ($kind), exit $status"
}
unset KFUSE_WORKER # found from where the shared library is, else by PATH
for example in "$SOURCE"/examples/*.c; do
    [ -f "$example" ] || continue
    try shared $(pkg-config --cflags --libs kfuse)
    PATH=$prefix/bin:$PATH try static $(pkg-config --cflags kfuse) "$archive" $(pkg-config --static --libs kfuse | sed 's/-lkfuse//')
    echo "built: ${example##*/}"
done

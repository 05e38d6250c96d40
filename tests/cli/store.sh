# A store that is read-only, damaged, or has no place: the run goes on, with one accurate line where nothing is kept.
store=cache/kfuse.db
problem='x * 2 + 1'
tuned "$problem" --shape 70
[ -f $store ] || fail "no store at $store"

# Damaged: set aside, or ignored, and written anew.
for damage in truncate zero garbage header empty; do
    case $damage in
    truncate) truncate -s $(($(stat -c %s $store) / 2)) $store ;;
    zero) dd if=/dev/zero of=$store bs=1024 count=8 seek=4 conv=notrunc status=none ;;
    garbage) head -c 65536 /dev/urandom >$store ;;
    header) printf 'not a database at all' | dd of=$store conv=notrunc status=none ;;
    empty) : >$store ;;
    esac
    tuned "$problem" --shape 70 --json
    tuned "$problem" --shape 70 --json
    expect_json cached true
    run "$KFUSE" cache ls
    expect_status 0
done

# A folder where the database should be; a file where its folder should be; a parent that is missing.
KFUSE_CACHE=$TMP/folder
mkdir -p folder/kfuse.db
tuned "$problem" --shape 70
expect_out 'right'
KFUSE_CACHE=$TMP/file
: >file
tuned "$problem" --shape 70
expect_out 'right'
expect_out 'stored     nothing: '
expect_out "$TMP/file"
KFUSE_CACHE=$TMP/a/b/c
tuned "$problem" --shape 70
[ -f a/b/c/kfuse.db ] || fail "no store in a folder that had to be made"

# Read-only (root writes anywhere)
if [ "$(id -u)" != 0 ]; then
    chmod 555 a/b/c && chmod 444 a/b/c/*
    tuned "$problem" --shape 70
    tuned "$problem" --shape 71
    expect_out 'stored     nothing: '
    chmod 755 a/b/c
fi
KFUSE_CACHE=/proc/nowhere/kfuse
tuned "$problem" --shape 70
expect_out 'right'
expect_out 'stored     nothing: /proc/nowhere/kfuse'
tuned "$problem" --shape 70 --json
expect_out '"store":"","store_note":"/proc/nowhere/kfuse'
expect_no_err
run "$KFUSE" cache ls
expect_status 4
expect_no_out

# HOME and the XDG folders
unset KFUSE_CACHE
run env -u KFUSE_CACHE -u XDG_CONFIG_HOME HOME=$TMP/home "$KFUSE" "$problem" --shape 70 --device "$device" --trials 1 --quiet
expect_status 0
[ -f home/.cache/kfuse/kfuse.db ] || fail "no store in ~/.cache/kfuse"
run env XDG_CACHE_HOME=$TMP/xdg "$KFUSE" "$problem" --shape 70 --device "$device" --trials 1 --quiet
expect_status 0
[ -f xdg/kfuse/kfuse.db ] || fail "no store in XDG_CACHE_HOME"
run env -u HOME -u XDG_CONFIG_HOME "$KFUSE" "$problem" --shape 70 --device "$device" --trials 1 --quiet
expect_status 0
expect_out 'right'
expect_out 'no folder for the store'

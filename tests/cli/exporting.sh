# The commands of doc/exporting.md, one after another in one folder: those that begin with "    $ ".
[ "$(uname -m)" = x86_64 ] || skip "the page's compiler options are x86's"
mkdir bin
printf '#!/bin/sh\nexec "%s" "$@"\n' "$KFUSE" >bin/kfuse
chmod +x bin/kfuse
PATH=$PWD/bin:$PATH
cp "$SOURCE/tests/onnx/mobilenet.onnx" model.onnx
ln -s "$SOURCE/examples" examples
echo "'x * y + 1' --shape 64x64" >list.txt
count=0
while IFS= read -r command; do
    count=$((count + 1))
    case $command in *--arch*) # tuned if there is a GPU; NVRTC may be missing
        run bash -c "$command --no-tune"
        [ "$status" = 4 ] && skip "no NVRTC here"
        ;;
    *) run bash -c "$command" ;;
    esac
    [ "$status" = 0 ] || [ "$status" = 77 ] || fail "exit $status: $command"
done < <(sed -n 's/^    \$ //p' "$SOURCE/doc/exporting.md")
[ "$count" -ge 11 ] || fail "the page has $count commands"
echo "$count commands"

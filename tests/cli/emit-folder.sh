# kfuse emit into a folder that has files already: what an earlier emit of this name left is removed, a file of another
# export is not written over, and nothing else is touched.
emit() { run "$KFUSE" emit "$@" --no-tune; }
listed() { sed -n 's/^  "files": \[\(.*\)\]$/\1/p' "$1" | tr -d '",'; }
# `has_only FOLDER FILES…`
has_only() {
    local folder=$1
    shift
    [ "$(ls "$folder")" = "$(printf '%s\n' "$@" | sort)" ] || fail "$folder has $(ls "$folder" | tr '\n' ' ')"
}

# In C: fewer kernels, then one file, then two again.
two='layernorm(x @ w, g, c)' shapes=(--shape x=20x64 --shape w=64x96 --shape g=96 --shape c=96 --device cpu)
parts=(a.c a.h a.json a_kernel.c)
emit "$two" "${shapes[@]}" --name a -o folder
expect_status 0
has_only folder "${parts[@]}" a_kernel_2.c
echo mine >folder/a_kernel_3.c
echo mine >folder/a.txt
emit 'x * 2' --shape 100 --device cpu --name a -o folder
expect_status 0
expect_out 'removed    folder/a_kernel_2.c   of an earlier emit'
has_only folder "${parts[@]}" a_kernel_3.c a.txt
emit 'x * 2' --shape 100 --device cpu --format header --name a -o folder
expect_status 0
has_only folder a.h a.json a_kernel_3.c a.txt
emit 'x * 2' --shape 100 --device cpu --name a -o folder
case $out in *removed*) fail 'nothing was to be removed' ;; esac
has_only folder "${parts[@]}" a_kernel_3.c a.txt
rm -r folder

# Names that begin alike: each keeps its files, and none is written over by another.
emit "$two" "${shapes[@]}" --name a -o folder
emit 'x * 2' --shape 100 --device cpu --name a_2 -o folder
expect_status 0
refused 2 "belongs to 'a' there, as a.json lists it" emit 'x * 2' --shape 100 --device cpu --name a_kernel --no-tune -o folder
emit 'x * 2' --shape 100 --device cpu --name a -o folder
has_only folder "${parts[@]}" a_2.c a_2.h a_2.json a_2_kernel.c

# A manifest that somebody edited removes nothing that an emit does not write, here or elsewhere.
echo mine >precious.c
echo mine >folder/a.list.c
ln -s ../precious.c folder/a_kernel_9.c
sed -i 's|"files": \[|&"../precious.c", "a.list.c", "a_kernel_9.c", "a_2.c", "a.h/../../precious.c", 7, null, ["a_2.h"], |' folder/a.json
emit 'x * 2' --shape 100 --device cpu --name a -o folder
expect_status 0
[ -s precious.c ] || fail 'a file elsewhere is gone'
has_only folder "${parts[@]}" a.list.c a_2.c a_2.h a_2.json a_2_kernel.c
for text in '' '{' '[]' '{"name": "a"}' '{"name": "a", "files": 3}' '{"name": "b", "files": ["a.list.c", "a_2.c", "a_kernel_9.c"]}'; do
    echo mine >folder/a_kernel_9.c
    printf '%s' "$text" >folder/a.json
    emit 'x * 2' --shape 100 --device cpu --name a -o folder
    expect_status 0
    has_only folder "${parts[@]}" a.list.c a_2.c a_2.h a_2.json a_2_kernel.c a_kernel_9.c
done

# One that cannot be removed is told, and is still known the next time.
rm folder/a_kernel_9.c
mkdir folder/a_kernel_9.c
sed -i 's|"files": \[|&"a_kernel_9.c", |' folder/a.json
emit 'x * 2' --shape 100 --device cpu --name a -o folder
expect_status 4
expect_err "cannot remove 'folder/a_kernel_9.c', which an earlier emit wrote"
listed folder/a.json | grep -q a_kernel_9.c || fail 'it is no longer known'

# For GPUs: other architectures, one file, C.
emit 'x * 2' --shape 100 --arch sm_80,sm_90 --name a -o cuda
[ "$status" = 4 ] && { echo 'no NVRTC here: CUDA is not emitted'; exit 0; }
expect_status 0
common=(a.c a.cu a.h a.json a.ptx a_binaries.h)
has_only cuda "${common[@]}" a.sm_80.cubin a.sm_90.cubin
emit 'x * 2' --shape 100 --arch sm_90 --name a -o cuda
expect_out 'removed    cuda/a.sm_80.cubin   of an earlier emit'
has_only cuda "${common[@]}" a.sm_90.cubin
emit 'x * 2' --shape 100 --arch sm_90 --format header --name a -o cuda
has_only cuda a.cu a.h a.json
emit 'x * 2' --shape 100 --device cpu --name a -o cuda
has_only cuda "${parts[@]}"

# What the scripts of this folder share. `NAME.sh [DEVICE [small]]` as in ../common.sh; $KFUSE is the program, if not
# in PATH. Everything they make is in a temporary folder.
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
kfuse=$(command -v "$kfuse") || { echo "kfuse is not in PATH, and KFUSE does not name it" >&2; exit 4; }
export KFUSE=$kfuse
shards=$(sized 4 3)
folder=$(mktemp -d)
list=$folder/list.txt
if [ "$size" = small ]; then head -n 7 "$here/list.txt" | sed 's/4096/64/g; s/--shape [0-9]*x/--shape 40x/'; else cat "$here/list.txt"; fi >"$list"

# `need PROGRAM PACKAGE`
need() { command -v "$1" >/dev/null || { echo "$1 is missing: apt-get install $2" >&2; exit 4; }; }

# `gather STORE…`: the shards' stores as one; then the list again, where each winner is judged and timed once and
# nothing is searched; then once more, where all is answered.
gather() {
    export KFUSE_CACHE=$folder/all
    echo "== merged"
    "$kfuse" cache merge "$@"
    "$kfuse" cache ls
    for pass in judged answered; do
        echo "== $pass"
        "$kfuse" tune-all "$list" "${search[@]}" --quiet
    done
}

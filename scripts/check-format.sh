#!/bin/sh
# Our own C must be as clang-format lays it out (templates are laid out by hand); `--fix` makes it so. Skipped where
# there is no clang-format.
command -v clang-format >/dev/null 2>&1 || { echo "no clang-format here: layout not checked"; exit 0; }
cd "$(dirname "$0")/.." || exit 1
bad=0
for file in $(git ls-files '*.c' '*.h' ':!registry/templates' ':!export/texts' ':!tests/golden'); do
    clang-format "$file" | cmp -s - "$file" && continue
    if [ "${1-}" = --fix ]; then clang-format -i "$file"; else echo "layout: $file" && bad=1; fi
done
[ $bad = 0 ] || echo "scripts/check-format.sh --fix lays them out"
exit $bad

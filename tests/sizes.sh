# How large the code is, room by room, so that growth is seen. A function runs from the line that ends in ") {" to
# the next brace at column 0. Flags what style.md would not like; fails for a file over 700 lines, or a function
# over 80 that is not one switch.
#
#   room   files   lines   median   p90   largest function
cd "$SOURCE"
list() { find "$@" -maxdepth 1 \( -name '*.c' -o -name '*.h' -o -name '*.inc' -o -name '*.re' -o -name '*.y' \) -type f 2>/dev/null | sort; }

# One line a function: lines, "switch" or "plain", file:line, name.
functions() {
    awk '
        FNR == 1 { inside = 0 }
        !inside && /\) *\{$/ && !/^#/ && !/=/ {
            inside = 1; first = FNR; kind = "plain"; name = /^[a-z]/ ? $0 : signature " " $0; sub(/\(.*/, "", name)
            sub(/.*[ *]/, "", name)
        }
        !inside && /^[A-Za-z].*\(/ { signature = $0 }
        inside && /switch \(/ { kind = "switch" }
        inside && /^\}/ { inside = 0; print FNR - first + 1, kind, FILENAME ":" first, name }' "$@"
}

rank() { awk -v p="$1" '{ v[NR] = $1 } END { i = int((NR - 1) * p / 100) + 1; print NR ? v[i] : 0 }'; }

broken=0
printf '%-14s %6s %7s %7s %5s  %s\n' room files lines median p90 'largest function'
for room in compiler/base grammar registry compiler tuner export . onnx cli tests/unit; do
    files=$(list "$room" $([ "$room" != tuner ] || echo tuner/strategies tuner/devices))
    [ -n "$files" ] || continue
    sizes=$(functions $files | sort -n)
    printf '%-14s %6d %7d %7d %5d  %s\n' "$room" "$(echo "$files" | wc -l)" "$(cat $files | wc -l)" \
        "$(echo "$sizes" | rank 50)" "$(echo "$sizes" | rank 90)" "$(echo "$sizes" | tail -n 1)"
    long=$(wc -l $files | awk '$2 != "total" && $1 > 500 { print "  over 500 lines: " $2 " (" $1 ")" }')
    wide=$(echo "$sizes" | awk '$1 > 40 { print "  over 40 lines: " $4 " (" $1 ", " $2 ") " $3 }')
    [ -z "$long" ] || echo "$long"
    [ -z "$wide" ] || echo "$wide"
    wc -l $files | awk '$2 != "total" && $1 > 700 { bad = 1 } END { exit bad }' || broken=1
    echo "$sizes" | awk '$1 > 80 && $2 == "plain" { bad = 1 } END { exit bad }' || broken=1
done
[ "$broken" = 0 ] || fail "a file over 700 lines, or a function over 80"

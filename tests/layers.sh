# The rooms' order: a file includes headers of its own room and of rooms before it, and a room's library needs no
# symbol that only a later room has. The command line (main.c, cli/) includes kfuse.h, onnx/onnx.h and compiler/base/embed.h
# alone, onnx/ kfuse.h and compiler/base/, and kfuse.h nothing.
rooms='compiler/base grammar registry compiler tuner export kfuse onnx main'
libraries='kf_base kf_grammar kf_registry kf_compiler kf_tuner kf_export kf_pipeline kf_onnx'

# Reads "file header" lines; prints those that point to a later room.
backward() {
    awk -v rooms="$rooms" '
        function room(path,   i) {
            if (path ~ /^compiler\/base\//) return place["compiler/base"]
            if (path ~ /^(main\.c|cli\/.*)$/) return place["main"]
            if (path !~ /\//) return place["kfuse"]
            sub(/\/.*/, "", path)
            return path in place ? place[path] : 0
        }
        BEGIN { n = split(rooms, name, " "); for (i = 1; i <= n; i++) place[name[i]] = i }
        room($2) > room($1) { print "  " $1 " includes " $2 }
        room($1) == place["main"] && $2 !~ /^(kfuse\.h|onnx\/onnx\.h|cli\/.*|compiler\/base\/embed\.h)$/ { print "  " $1 " includes " $2 }
        room($1) == place["onnx"] && $2 !~ /^(kfuse\.h|onnx\/.*|compiler\/base\/.*)$/ { print "  " $1 " includes " $2 }
        $1 == "kfuse.h" { print "  kfuse.h includes " $2 }'
}

# Symbols of a library: "U name" for needed, "D name" for defined.
symbols() { nm "$1" 2>/dev/null | awk 'NF >= 2 && $(NF - 1) ~ /^[A-Z]$/ { print ($(NF - 1) == "U" ? "U" : "D"), $NF }' | sort -u; }

cd "$SOURCE"
found=$(grep -HE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' -r --include='*.[chy]' --include='*.re' --include='*.def' --include='*.inc' \
    compiler grammar registry tuner export onnx cli *.c *.h 2>/dev/null |
    sed -E 's/^([^:]*):[^"]*"([^"]*)".*/\1 \2/' | grep -vE '^(registry/templates|onnx/texts)/' | backward)
[ -z "$found" ] || fail "includes that point backwards:
$found"

cd "$BUILD"
for name in $libraries; do [ -f "lib$name.a" ] || fail "no lib$name.a in $BUILD"; done
for name in $libraries; do
    symbols "lib$name.a" | awk -v room="$name" '{ print room, $0 }'
done >"$TMP/symbols"
found=$(awk -v libraries="$libraries" '
    BEGIN { n = split(libraries, name, " "); for (i = 1; i <= n; i++) place[name[i]] = i }
    $2 == "D" && !($3 in home) { home[$3] = place[$1] }
    $2 == "U" { need[$1 " " $3] = 1 }
    END {
        for (pair in need) {
            split(pair, part, " ")
            if (home[part[2]] > place[part[1]]) print "  " part[1] " needs " part[2] " of " name[home[part[2]]]
        }
    }' "$TMP/symbols")
[ -z "$found" ] || fail "symbols that point backwards:
$found"
echo "rooms in order: $(grep -c ' D ' "$TMP/symbols") symbols"

# What the shell examples share. `NAME.sh [DEVICE [small]]`: kfuse's default device, or cpu, cuda:1, …; `small` takes
# small shapes and two candidates a search, to try it in seconds. $KFUSE is the program, if not in PATH.
set -eu
kfuse=${KFUSE:-kfuse}
device=${1-} size=${2-}
search=()
[ "$size" != small ] || search=(--effort quick --trials 2 --budget 1)
[ -z "$device" ] || search+=(--device "$device")

# `sized LARGE SMALL`: words for this run's size.
sized() { if [ "$size" = small ]; then echo "$2"; else echo "$1"; fi; }

# `tune EXPR --shape …`: $report is what kfuse found.
tune() { report=$("$kfuse" "$@" "${search[@]}" --quiet --json); }

# `field KEY`: its value in $report, "-" where there is none.
field() {
    local value
    value=$(printf '%s\n' "$report" | grep -oE "\"$1\":(\{[^}]*\}|\[[^]]*\]|\"[^\"]*\"|[^,}]*)" | head -1)
    value=${value#*:} value=${value#\"} value=${value%\"}
    case $value in '' | null) echo - ;; *) printf '%s\n' "$value" ;; esac
}

# "softmax:TPR=32,RPB=4": the winner as --point takes it.
winner() { echo "$(field kernel):$(field winner | tr -d '{}"' | tr : =)"; }

# `ratio A B`, `round FORMAT VALUE`: "-" where something was not measured.
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { if (a > 0 && b > 0) printf "%.2f", a / b; else printf "-" }'; }
round() { awk -v f="$1" -v v="$2" 'BEGIN { if (v == "-") printf "-"; else printf f, v }'; }

# What moves or is computed a second.
rate() {
    awk -v us="$(field time_us)" -v operations="$(field operations)" -v gb="$(field gbps)" 'BEGIN {
        if (operations > 0 && us > 0) printf "%.3g TFLOP/s", operations / us / 1e6
        else if (gb > 0) printf "%.3g GB/s", gb
        else printf "-" }'
}

# `row LABEL`: time, rate, fraction of what the device streams, time of one kernel per operation over it, the winner.
head_row() { printf '%-22s %10s %14s %5s %7s  %s\n' "$1" us rate roof eager/ winner; }
row() {
    printf '%-22s %10s %14s %5s %7s  %s\n' "$1" "$(round %.2f "$(field time_us)")" "$(rate)" \
        "$(round %.2f "$(field roof_fraction)")" "$(round %.2f "$(field speedup)")" "$(winner)"
}

# `flips HEAD SHAPE…`, after a function `at SHAPE WORDS…` that tunes there: a table of the winner at each shape, then
# what each would cost at the others. The best point moves with the shape.
flips() {
    local here there cost
    declare -A best time
    head_row "$1"
    shift
    for here in "$@"; do
        at "$here"
        best[$here]=$(winner) time[$here]=$(field time_us)
        row "$here"
    done
    for here in "$@"; do
        for there in "$@"; do
            [ "${best[$here]}" != "${best[$there]}" ] || continue
            cost='is not legal'
            ! at "$here" --point "${best[$there]}" 2>/dev/null || cost="takes $(ratio "$(field time_us)" "${time[$here]}") times as long"
            echo "at $here, what wins at $there $cost"
        done
    done
}

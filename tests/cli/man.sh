# The manual page has every option that the help has.
run "$KFUSE" --help-all
expect_status 0
for option in $(printf '%s\n' "$out" | grep -oE '^ *(-[a-z], )?--?[a-z][a-z-]*' | tr -d ' '); do
    grep -qF -- "${option//-/\\-}" "$SOURCE/doc/kfuse.1" || fail "doc/kfuse.1 lacks $option"
done

# $PART of tests/python/, by $PYTHON (python3), which may lack what it is about.
python=${PYTHON:-python3}
command -v "$python" >/dev/null || skip "no $python"
case $PART in
layout | driver) needs= ;;
torch_*) needs='torch numpy' ;;
jax_arrays) needs='jax numpy' ;;
*) needs=numpy ;;
esac
for module in $needs; do
    "$python" -c "import $module" 2>/dev/null || skip "$python has no $module"
done
run "$python" "$SOURCE/tests/python/$PART.py"
expect_status 0
printf '%s\n' "$err" | tail -n 3
expect_no_process

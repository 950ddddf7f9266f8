# An `if` without `fi`. Compile error: the judge checks the syntax before it runs the script,
# although the shell has no compiler.
if true; then
    echo 1

# An `if` without its end. Compile error: found before it runs, though there is no compiler.
if true; then
    echo 1

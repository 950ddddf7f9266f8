# Indented for no reason. Compile error: found before it runs, though there is no compiler.
print(1)
    print(2)

# Unexpected indentation. Compile error: the judge checks the syntax before it runs the program,
# although Python has no compiler.
print(1)
    print(2)

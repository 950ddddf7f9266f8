// A closing bracket is missing. Compile error: the judge checks the syntax before it runs the
// program, although JavaScript has no compiler.
console.log([1, 2, 3);

// No bracket at the end. Compile error: found before it runs, though there is no compiler.
console.log([1, 2, 3);

// Reads a property of undefined: an uncaught exception, exit status 1. Run-time error.
const lines = require("fs").readFileSync(0, "utf8").split("\n");
console.log(lines[1000].length);

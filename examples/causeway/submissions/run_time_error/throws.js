// Asks undefined for a property: an exception that nobody catches, exit status 1. Run-time error.
const lines = require("fs").readFileSync(0, "utf8").split("\n");
console.log(lines[1000].length);

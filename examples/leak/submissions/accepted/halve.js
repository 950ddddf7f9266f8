// The same algorithm as halve.cpp, driven by events: after each line that it reads, it writes the
// next one.
const lines = require("readline").createInterface({ input: process.stdin });
let first = 1;
let last = null;
let middle = 0;
lines.on("line", (line) => {
    if (last === null) last = Number(line.split(" ")[0]);
    else if (line === "wet") first = middle;
    else last = middle - 1;
    if (first === last) {
        console.log(`! ${first}`);
        lines.close();
        return;
    }
    middle = Math.floor((first + last + 1) / 2);
    console.log(`? ${middle}`);
});

// Maps each sum to the stone that reached it first, and prints one number on each line.
const [n, ...weights] = require("fs").readFileSync(0, "utf8").trim().split(/\s+/).map(Number);
const last = new Map([[0, 0]]);
for (let stone = 1; stone <= n; stone++)
    for (const sum of [...last.keys()])
        if (!last.has(sum + weights[stone - 1])) last.set(sum + weights[stone - 1], stone);
let sum = Math.floor(weights.reduce((a, b) => a + b) / 2);
while (!last.has(sum)) sum--;
const heap = [];
for (; sum > 0; sum -= weights[heap[heap.length - 1] - 1]) heap.push(last.get(sum));
console.log([heap.length, ...heap].join("\n"));

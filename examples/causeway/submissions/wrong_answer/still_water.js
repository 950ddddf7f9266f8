// Ignores that the water level may stay the same. In JavaScript, 1 / 0 is Infinity, not an error,
// and sums of infinities become NaN. Wrong answer.
const HIGHEST = 10000;
const numbers = require("fs").readFileSync(0, "utf8").split(/\s+/).map(Number);
const [n, m] = numbers;
const change = new Float64Array(HIGHEST + 2);
for (let i = 3; i < n + 2; i++) {
    const low = Math.min(numbers[i - 1], numbers[i]);
    const high = Math.max(numbers[i - 1], numbers[i]);
    change[low] += 1 / (high - low);
    change[high] -= 1 / (high - low);
}
const minutes = [];
let [sum, slope] = [0, change[0]];
for (let height = 0; height <= HIGHEST; height++) {
    minutes.push(sum);
    sum += slope;
    slope += change[height + 1];
}
console.log(numbers.slice(n + 2, n + 2 + m).map((height) => minutes[height].toFixed(9)).join("\n"));

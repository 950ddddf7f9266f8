// The same algorithm as sweep.cpp.
use std::io::{self, Read, Write};

const HIGHEST: usize = 10_000;

fn main() -> io::Result<()> {
    let mut input = String::new();
    io::stdin().read_to_string(&mut input)?;
    let mut numbers = input.split_whitespace().map(|word| word.parse::<usize>().expect("a number"));
    let mut next = || numbers.next().expect("one more number");
    let (n, m) = (next(), next());
    let readings: Vec<usize> = (0..n).map(|_| next()).collect();
    let mut change = vec![0.0; HIGHEST + 2];
    let mut level = vec![0.0; HIGHEST + 2];
    for pair in readings.windows(2) {
        let (low, high) = (pair[0].min(pair[1]), pair[0].max(pair[1]));
        if low == high {
            level[low] += 1.0;
        } else {
            change[low] += 1.0 / (high - low) as f64;
            change[high] -= 1.0 / (high - low) as f64;
        }
    }
    let mut minutes = Vec::new();
    let (mut sum, mut slope) = (level[0], change[0]);
    for height in 0..=HIGHEST {
        minutes.push(sum);
        sum += slope + level[height + 1];
        slope += change[height + 1];
    }
    let mut output = io::BufWriter::new(io::stdout());
    for _ in 0..m {
        writeln!(output, "{:.9}", minutes[next()])?;
    }
    output.flush()
}

// The same algorithm as stalls.cpp; 100 points.
use std::io::{self, Read};

fn main() -> io::Result<()> {
    let mut input = String::new();
    io::stdin().read_to_string(&mut input)?;
    let words = input.split_whitespace();
    let numbers: Vec<u64> = words.map(|word| word.parse().expect("a number")).collect();
    let mut best = vec![0, 0];
    for (i, pay) in numbers[1..].iter().enumerate() {
        best.push(best[i + 1].max(best[i] + pay));
    }
    let mut stalls = Vec::new();
    let mut stall = numbers.len() - 1;
    println!("{}", best[stall + 1]);
    while stall > 0 {
        if best[stall + 1] == best[stall] {
            stall -= 1;
        } else {
            stalls.push(stall.to_string());
            stall = stall.saturating_sub(2);
        }
    }
    println!("{}", stalls.join(" "));
    Ok(())
}

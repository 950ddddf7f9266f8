// The same algorithm as sums.cpp, but it prints the other heap, which is also correct.
use std::io::{self, Read};

fn main() -> io::Result<()> {
    let mut input = String::new();
    io::stdin().read_to_string(&mut input)?;
    let words = input.split_whitespace();
    let numbers: Vec<usize> = words.map(|word| word.parse().expect("a number")).collect();
    let weights = &numbers[1..];
    let all: usize = weights.iter().sum();
    let mut last: Vec<Option<usize>> = vec![None; all + 1];
    for (stone, &weight) in weights.iter().enumerate() {
        for sum in (weight..=all).rev() {
            if last[sum].is_none() && (sum == weight || last[sum - weight].is_some()) {
                last[sum] = Some(stone);
            }
        }
    }
    let mut sum = (1..=all / 2).rev().find(|&sum| last[sum].is_some()).unwrap_or(0);
    let mut heap = vec![false; weights.len()];
    while let Some(stone) = last[sum].filter(|_| sum > 0) {
        heap[stone] = true;
        sum -= weights[stone];
    }
    let others = (0..heap.len()).filter(|&stone| !heap[stone]);
    let others: Vec<String> = others.map(|stone| (stone + 1).to_string()).collect();
    println!("{}\n{}", others.len(), others.join(" "));
    Ok(())
}

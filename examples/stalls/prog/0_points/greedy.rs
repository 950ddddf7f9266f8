// Repeatedly takes the stall that pays most among those that are left. In every group there is a
// test in which one stall pays more than each neighbour, but less than both together: 0 points.
use std::io::{self, Read};

fn main() -> io::Result<()> {
    let mut input = String::new();
    io::stdin().read_to_string(&mut input)?;
    let words = input.split_whitespace().skip(1);
    let pays: Vec<u64> = words.map(|word| word.parse().expect("a number")).collect();
    let mut order: Vec<usize> = (0..pays.len()).collect();
    order.sort_by_key(|&stall| std::cmp::Reverse(pays[stall]));
    let mut used = vec![false; pays.len() + 2];
    for stall in order {
        // Places are numbered from 1 here, so that each place has neighbours.
        used[stall + 1] = !used[stall] && !used[stall + 2];
    }
    let stalls: Vec<usize> = (0..pays.len()).filter(|&stall| used[stall + 1]).collect();
    println!("{}", stalls.iter().map(|&stall| pays[stall]).sum::<u64>());
    let numbers: Vec<String> = stalls.iter().map(|stall| (stall + 1).to_string()).collect();
    println!("{}", numbers.join(" "));
    Ok(())
}

// Finds the leak and panics. The interactor accepts, but the submission must also exit
// successfully: run-time error.
use std::io::{self, BufRead};

fn main() {
    let mut lines = io::stdin().lock().lines().map(|line| line.expect("a line"));
    let mut next = || lines.next().expect("one more line");
    let sections = next().split(' ').next().unwrap().parse::<u32>().expect("a number");
    let (mut first, mut last) = (1, sections);
    while first < last {
        let middle = (first + last + 1) / 2;
        println!("? {}", middle);
        if next() == "wet" {
            first = middle;
        } else {
            last = middle - 1;
        }
    }
    println!("! {}", first);
    panic!("found");
}

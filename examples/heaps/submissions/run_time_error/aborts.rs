// Parses the end of its input as a number, which panics. Depending on the compiler's options, the
// program ends by SIGABRT or with exit status 101. Run-time error.
use std::io::Read;

fn main() {
    let mut input = String::new();
    std::io::stdin().read_to_string(&mut input).unwrap();
    let sum: i32 = input.split(' ').map(|word| word.parse::<i32>().unwrap()).sum();
    println!("{}", sum);
}

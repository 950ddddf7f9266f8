// Uses a crate that does not exist. Compile error.
use rand::Rng;

fn main() {
    println!("{}", rand::thread_rng().gen_range(1..10));
}

// Uses a crate that is not there. Compile error.
use rand::Rng;

fn main() {
    println!("{}", rand::thread_rng().gen_range(1..10));
}

// Reads past the end of a vector: a panic. It ends by SIGABRT or with exit status 101, depending on
// the compiler's options. Run-time error.
fn main() {
    let readings: Vec<u32> = Vec::new();
    let first = std::env::args().count();
    println!("{}", readings[first]);
}

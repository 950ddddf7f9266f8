// Reads past the end of a vector, which panics. Depending on the compiler's options, the program
// ends by SIGABRT or with exit status 101. Run-time error.
fn main() {
    let readings: Vec<u32> = Vec::new();
    let first = std::env::args().count();
    println!("{}", readings[first]);
}

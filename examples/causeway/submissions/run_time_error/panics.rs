// Takes an element that is not there: a panic, which ends it by SIGABRT or with exit status 101,
// as it was compiled. Run-time error.
fn main() {
    let readings: Vec<u32> = Vec::new();
    let first = std::env::args().count();
    println!("{}", readings[first]);
}

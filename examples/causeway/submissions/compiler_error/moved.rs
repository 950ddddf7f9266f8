// Uses a value after it was moved. Compile error.
fn main() {
    let readings = vec![1, 2, 3];
    let others = readings;
    println!("{} {}", readings.len(), others.len());
}

// Uses what it has given away. Compile error.
fn main() {
    let readings = vec![1, 2, 3];
    let others = readings;
    println!("{} {}", readings.len(), others.len());
}

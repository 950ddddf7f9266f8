fn main() {
    let mut blocks = Vec::new();
    loop {
        blocks.push(vec![1u8; 1 << 20]);
    }
}

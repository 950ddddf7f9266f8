fn main() {
    panic!("error");
}

void main() {
    missing();
}

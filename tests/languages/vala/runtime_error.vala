void main() {
    Process.exit(3);
}

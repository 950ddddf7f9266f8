void main() {
    throw new Exception("error");
}

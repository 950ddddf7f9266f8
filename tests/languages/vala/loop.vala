void main() {
    int count = 0;
    while (true)
        count ^= 1;
}

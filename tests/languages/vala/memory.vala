void main() {
    while (true) {
        uint8* block = malloc(1 << 20);
        Memory.set(block, 1, 1 << 20);
    }
}

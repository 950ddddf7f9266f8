int main() {
    volatile unsigned long count = 0;
    for (;;)
        count++;
}

int main(void) {
    volatile unsigned long count = 0;
    for (;;)
        count++;
}

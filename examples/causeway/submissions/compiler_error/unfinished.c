/* No brace at the end. Compile error. */
int main(void) {
    return 0;

/* The closing brace is missing. Compile error. */
int main(void) {
    return 0;

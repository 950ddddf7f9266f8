// Writes through a null pointer: SIGSEGV. Run-time error.
int main() {
    // Volatile keeps the compiler from removing the write.
    volatile int* volatile nothing = nullptr;
    *nothing = 1;
}

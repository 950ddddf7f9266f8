// Writes through a null pointer: SIGSEGV. Run-time error.
int main() {
    // Volatile, so that the compiler does not remove the write.
    volatile int* volatile nothing = nullptr;
    *nothing = 1;
}

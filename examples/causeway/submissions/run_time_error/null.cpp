// Writes where nothing is: SIGSEGV. Run-time error.
int main() {
    // Volatile, lest the compiler see that nobody reads it.
    volatile int* volatile nothing = nullptr;
    *nothing = 1;
}

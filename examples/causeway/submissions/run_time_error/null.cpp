// Writes where nothing is: SIGSEGV. Run-time error.
int main() {
    int* volatile nothing = nullptr;
    *nothing = 1;
}

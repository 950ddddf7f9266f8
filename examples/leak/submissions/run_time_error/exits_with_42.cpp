// Writes nothing and exits with 42, the status with which an interactor accepts. A judge that
// confuses the two programs would accept the submission. Run-time error.
int main() {
    return 42;
}

// Writes nothing and exits with 42, the status by which an interactor accepts. A judge that
// confuses the two programs would accept it. Run-time error.
int main() {
    return 42;
}

// Says nothing and exits with 42, by which an interactor says that it accepts. A judge that mixes the
// two up would accept. Run-time error.
int main() {
    return 42;
}

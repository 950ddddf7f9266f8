// Forgets to include a header. Compile error.
int main() {
    std::cout << "! 1" << std::endl;
}

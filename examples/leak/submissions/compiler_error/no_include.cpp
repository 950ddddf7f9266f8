// Forgets what it uses. Compile error.
int main() {
    std::cout << "! 1" << std::endl;
}

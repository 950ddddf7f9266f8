// Asks all its questions at once, reads no reply and guesses. Unread replies must not block the
// interactor. Wrong answer.
#include <iostream>

int main() {
    int n, q;
    std::cin >> n >> q;
    for (int i = 0; i < q; ++i)
        std::cout << "? " << (i * 997) % n + 1 << '\n';
    std::cout << "! " << (n + 2) / 3 << std::endl;
}

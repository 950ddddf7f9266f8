// A template that instantiates itself endlessly. The compiler stops at its own depth limit: compile
// error. The judge keeps only the beginning of the messages.
template <int N>
struct More {
    static constexpr long value = 1 + More<N + 1>::value;
};

int main() {
    return More<0>::value != 0;
}

// A template that needs the next one, without end. The compiler gives up at its own limit on depth:
// compile error, with messages of which a judge keeps the beginning only.
template <int N>
struct More {
    static constexpr long value = 1 + More<N + 1>::value;
};

int main() {
    return More<0>::value != 0;
}

// Solves sudokus: one in each line of standard input, 81 characters, a digit or '.' for an
// empty cell; what follows a blank is a remark. For each, one line: the solution, whether it
// is the only one, and how many digits were tried to know that.

#include <array>
#include <bit>
#include <cctype>
#include <iostream>
#include <string>

namespace {

class Sudoku {
public:
    explicit Sudoku(const std::string &text) {
        for (int cell = 0; cell < 81; ++cell) {
            char c = text[cell];
            if (c >= '1' && c <= '9') {
                int digit = 1 << (c - '1');
                valid_ &= (free(cell) & digit) != 0;
                put(cell, digit);
            }
        }
    }

    // Looks for solutions, and stops at the second.
    void solve() {
        if (!valid_ || solutions > 1) return;
        // The empty cell with the fewest digits left.
        int best = -1, fewest = 10;
        for (int cell = 0; cell < 81 && fewest > 1; ++cell) {
            if (digits_[cell]) continue;
            int left = std::popcount(unsigned(free(cell)));
            if (left < fewest) best = cell, fewest = left;
        }
        if (best < 0) {
            if (++solutions == 1) first = text();
            return;
        }
        for (int left = free(best); left; left &= left - 1) {
            int digit = left & -left;
            ++tried;
            put(best, digit);
            solve();
            put(best, digit);
            digits_[best] = 0;
        }
    }

    int solutions = 0;
    long tried = 0;
    std::string first;

private:
    static int box(int cell) { return cell / 27 * 3 + cell % 9 / 3; }

    int free(int cell) const { return 0x1ff & ~(rows_[cell / 9] | columns_[cell % 9] | boxes_[box(cell)]); }

    // Puts a digit, or takes it away again.
    void put(int cell, int digit) {
        digits_[cell] = digit;
        rows_[cell / 9] ^= digit;
        columns_[cell % 9] ^= digit;
        boxes_[box(cell)] ^= digit;
    }

    std::string text() const {
        std::string text;
        for (int digit : digits_) text += char('1' + std::countr_zero(unsigned(digit)));
        return text;
    }

    std::array<int, 81> digits_{};
    std::array<int, 9> rows_{}, columns_{}, boxes_{};
    bool valid_ = true;
};

} // namespace

int main() {
    std::string line;
    int all = 0;
    while (std::getline(std::cin, line)) {
        if (line.empty() || line[0] == '#') continue;
        if (line.size() < 81 || (line.size() > 81 && !std::isspace(static_cast<unsigned char>(line[81])))) {
            std::cerr << "not a sudoku: " << line << '\n';
            return 1;
        }
        Sudoku sudoku(line);
        sudoku.solve();
        const char *verdict = sudoku.solutions == 0 ? "none" : sudoku.solutions == 1 ? "unique" : "several";
        std::cout << (sudoku.first.empty() ? std::string(81, '.') : sudoku.first) << ' ' << verdict << ' '
                  << sudoku.tried << '\n';
        ++all;
    }
    std::cerr << all << " sudokus\n";
}

// A few words that become a program of a gigabyte: what the compiler may write is limited, and that
// limit is the compile error. Nothing of it may be left on a disk.
int large[1 << 28] = {1};

int main() {
    return large[0] - 1;
}

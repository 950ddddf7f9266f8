// A short source that is compiled to a program of a gigabyte. The compiler exceeds its output
// limit: compile error. No part of the program may remain on the disk.
int large[1 << 28] = {1};

int main() {
    return large[0] - 1;
}

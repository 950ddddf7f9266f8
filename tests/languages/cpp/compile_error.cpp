int main() {
    return missing;
}

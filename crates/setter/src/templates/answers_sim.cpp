// Sim reads standard error: `OK` or `WRONG`, then a percentage or an empty line, then a comment.
[[noreturn]] static void accept(const std::string &comment) {
    std::cerr << "OK\n\n" << comment << '\n';
    std::exit(0);
}

[[noreturn]] static void refuse(char **, const std::string &why) {
    std::cerr << "WRONG\n\n" << why << '\n';
    std::exit(0);
}

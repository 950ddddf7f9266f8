// A small judge: compiles a C++ source in the sandbox, and runs it on all tests of a directory.
//
//   judge SOURCE TESTS
//
// A test is a file NAME.in with an answer NAME.ans. The exit status is 0 if all are accepted, 1 if
// not, and 2 if the sandbox failed.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <millibox.hpp>
#include <sstream>
#include <type_traits>
#include <vector>

using namespace std::chrono_literals;
namespace fs = std::filesystem;

// Returns the value, or throws the error's message. With std::expected, the exception that value()
// throws has no message.
template <class T>
static T get(millibox::expected<T> result) {
    if (!result)
        throw std::runtime_error(result.error().message());
    if constexpr (!std::is_void_v<T>)
        return std::move(*result);
}

static std::string read_file(const fs::path &path) {
    std::ifstream file(path, std::ios::binary);
    if (!file)
        throw std::runtime_error("cannot read " + path.string());
    return {std::istreambuf_iterator<char>(file), {}};
}

// Compares words, so white space does not matter.
static bool is_same(std::string_view left, std::string_view right) {
    const auto words = [](std::string_view text) {
        std::istringstream stream{std::string(text)};
        return std::vector<std::string>(std::istream_iterator<std::string>(stream), {});
    };
    return words(left) == words(right);
}

static std::string verdict(const millibox::result &result, std::string_view answer) {
    switch (result.outcome()) {
        case millibox::outcome::exited:
            if (result.exit_code() != 0)
                return "run-time error, " + result.message();
            return is_same(result.output(), answer) ? "accepted" : "wrong answer";
        case millibox::outcome::real_time_limit:
        case millibox::outcome::cpu_time_limit:
            return "time limit";
        default:
            return result.message();
    }
}

static int judge(const fs::path &source, const fs::path &directory) {
    const auto sandbox = get(millibox::sandbox::create());
    auto files = get(millibox::files::create());
    get(files.write("main.cpp", read_file(source)));

    millibox::world compiler;
    compiler.read_write(files.path(), "/work");
    millibox::program compile{"g++", "-O2", "-o", "main", "main.cpp"};
    compile.cwd("/work").world(compiler).limits({.real_time = 30s, .file_size = 64 << 20});
    const auto compiled = get(sandbox.run(compile));
    if (!compiled.ok()) {
        std::cout << "compile error, " << compiled.message() << "\n" << compiled.errors();
        return 1;
    }

    std::vector<fs::path> tests;
    for (const auto &entry : fs::directory_iterator(directory))
        if (entry.path().extension() == ".in")
            tests.push_back(entry.path());
    std::ranges::sort(tests);

    // The program may not change itself.
    millibox::world runner;
    runner.read_only(files.path(), "/work");
    std::vector<millibox::run> runs;
    for (const auto &test : tests) {
        millibox::program program{"/work/main"};
        program.world(runner).input(read_file(test)).limits({.real_time = 2s});
        // The sandbox runs one program for each CPU; the others wait.
        runs.push_back(get(sandbox.start(program)));
    }
    bool all = true;
    for (std::size_t i = 0; i < tests.size(); i++) {
        const auto result = get(runs[i].wait());
        const auto text = verdict(result, read_file(fs::path(tests[i]).replace_extension(".ans")));
        const auto time = std::chrono::duration_cast<std::chrono::milliseconds>(result.cpu_time());
        std::cout << tests[i].stem().string() << ": " << text << ", " << time.count() << " ms\n";
        all = all && text == "accepted";
    }
    return all ? 0 : 1;
}

int main(int argc, char **argv) {
    if (argc != 3) {
        std::cerr << "usage: judge SOURCE TESTS\n";
        return 2;
    }
    try {
        return judge(argv[1], argv[2]);
    } catch (const std::exception &error) {
        std::cerr << "judge: " << error.what() << "\n";
        return 2;
    }
}

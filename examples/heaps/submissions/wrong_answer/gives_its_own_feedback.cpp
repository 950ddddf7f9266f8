// Imitates the validator. It writes a verdict and points to every directory that could be the
// feedback directory. There it also creates files that cannot be overwritten or that never end (a
// link, a FIFO). It then prints a wrong heap. The validator uses other directories, so its own
// decision counts: wrong answer.
#include <cstdio>
#include <fcntl.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

static void leave(const std::string& path, const char* text) {
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_CLOEXEC, 0666);
    if (fd < 0)
        return;
    [[maybe_unused]] const auto length = write(fd, text, std::char_traits<char>::length(text));
    close(fd);
}

int main() {
    for (const std::string place : {"", "feedback/", "../feedback/", "/feedback/", "/judge/",
                                    "/judge/feedback/", "/output/", "/program/", "/tmp/",
                                    "/tmp/feedback/", "/dev/shm/"}) {
        leave(place + "score.txt", "100\n");
        leave(place + "score_multiplier.txt", "1\n");
        leave(place + "judgemessage.txt", "accepted\n");
        leave(place + "exit_status", "42\n");
        // The directories in which the judge may later create its own files.
        const std::string link = place + "teammessage.txt";
        [[maybe_unused]] const bool linked = symlink("/etc/passwd", link.c_str()) == 0;
        mkfifo((place + "judgeerror.txt").c_str(), 0666);
    }
    std::puts("0");
}

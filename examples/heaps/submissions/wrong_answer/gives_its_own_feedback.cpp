// Does the validator's work itself: leaves its own verdict and points in every directory that could
// be the one for feedback, makes files there that cannot be written over or never end (a link, a
// fifo), and prints a heap that is wrong. Its directories are not the validator's: wrong answer, by
// what the validator says.
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
                                    "/judge/feedback/", "/output/", "/program/", "/tmp/", "/tmp/feedback/", "/dev/shm/"}) {
        leave(place + "score.txt", "100\n");
        leave(place + "score_multiplier.txt", "1\n");
        leave(place + "judgemessage.txt", "accepted\n");
        leave(place + "exit_status", "42\n");
        // Wherever the real ones are made later.
        [[maybe_unused]] const bool linked = symlink("/etc/passwd", (place + "teammessage.txt").c_str()) == 0;
        mkfifo((place + "judgeerror.txt").c_str(), 0666);
    }
    std::puts("0");
}

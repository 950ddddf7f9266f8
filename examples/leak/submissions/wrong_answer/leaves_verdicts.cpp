// Tries to decide in place of the interactor. It writes a verdict to every directory that could be
// the feedback directory, to standard error and to the other end of its input, and then to the
// interactor. Wrong answer.
#include <cstring>
#include <fcntl.h>
#include <string>
#include <unistd.h>

static void say(int fd, const char* text) {
    [[maybe_unused]] const auto length = write(fd, text, std::strlen(text));
}

int main() {
    for (const std::string place : {"", "feedback/", "../feedback/", "/feedback/", "/judge/",
                                    "/output/", "/tmp/", "/tmp/feedback/"})
        for (const char* name : {"judgemessage.txt", "teammessage.txt", "score.txt", "result"}) {
            const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_CLOEXEC;
            const int fd = open((place + name).c_str(), flags, 0666);
            if (fd >= 0)
                say(fd, "accepted\n");
        }
    for (int fd : {0, 2, 3, 4, 5, 6, 7})
        say(fd, "OK\n100\n");
    const int input = open("/proc/self/fd/0", O_WRONLY | O_NONBLOCK);
    if (input >= 0)
        say(input, "accepted\n");
    say(1, "OK\n100\naccepted\n");
}

/* ---
class = "leaks"
attempts = """\
leave pseudo-terminals with input for the next run, and a multiplexer that it cannot open"""
must = "the next run has an empty /dev/pts and a multiplexer that works"
held_by = "a devpts for each run"
with = ["standard", "pseudo_terminals"]
pair = "after"
control = "together"
--- */
#define PAIR
#include "hostile.h"
#include <dirent.h>
#include <termios.h>

static int opened(void)
{
    int terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY);
    must(terminal);
    return terminal;
}

static void plant(void)
{
    for (int i = 0; i < 3; i++)
        must(write(opened(), token, strlen(token)));
    must(chmod("/dev/pts/ptmx", 0));
    if (fork() == 0) {
        setsid();
        signal(SIGHUP, SIG_IGN);
        sleep(3);
        _exit(0);
    }
}

static void look(void)
{
    struct stat of_multiplexer;
    must(stat("/dev/pts/ptmx", &of_multiplexer));
    if ((of_multiplexer.st_mode & 0777) != 0666)
        escaped("the mode of the multiplexer is %o", of_multiplexer.st_mode);
    DIR *directory = opendir("/dev/pts");
    if (!directory)
        broken("there is no /dev/pts");
    for (struct dirent *entry; (entry = readdir(directory));)
        if (entry->d_name[0] != '.' && strcmp(entry->d_name, "ptmx"))
            escaped("found %s", entry->d_name);
    must(opened());
    if (access("/dev/pts/0", F_OK))
        escaped("the first pseudo-terminal has another number");
}

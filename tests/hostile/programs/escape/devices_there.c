/* ---
class = "escape"
attempts = "use devices of the host: everything in /dev"
must = "only null, zero, full, random and urandom exist, and random accepts no control requests"
held_by = "mount namespace; seccomp; no capabilities"
with = ["proc"]
--- */
#include "hostile.h"

static void attack(void)
{
    static const char known[] = " . .. null zero full random urandom fd stdin stdout stderr ";
    DIR *directory = opendir("/dev");
    if (directory == NULL)
        broken("/dev");
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        char word[300];
        snprintf(word, sizeof word, " %s ", entry->d_name);
        if (strstr(known, word) == NULL)
            escaped("/dev/%s", entry->d_name);
    }
    int fd = must(open("/dev/urandom", O_RDWR)), count = 0;
    refused_or("RNDCLEARPOOL", ioctl(fd, 0x5206, 0), ENOTTY);
    refused_or("RNDADDTOENTCNT", ioctl(fd, 0x40045201, &count), ENOTTY);
}

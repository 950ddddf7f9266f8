/* ---
class = "leaks"
attempts = "learn the host's name and domain"
must = "the names are those of the sandbox"
held_by = "UTS namespace"
with = ["proc"]
control = "bare"
--- */
#include "hostile.h"
#include <sys/utsname.h>

static void attack(void)
{
    struct utsname names;
    char text[300] = "";
    must(uname(&names));
    if (strcmp(names.nodename, "millibox") != 0)
        escaped("the host is %s", names.nodename);
    if (file_read("/proc/sys/kernel/hostname", text, sizeof text) > 1
        && strcmp(text, "millibox\n") != 0)
        escaped("the host is %s", text);
}

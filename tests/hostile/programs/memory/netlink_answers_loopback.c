/* ---
class = "memory"
attempts = """\
send netlink requests and leave the answers unread, with a loopback interface, where netlink is \
allowed"""
must = "the memory limit ends the run"
held_by = "the supervisor counts the memory of a run's netlink sockets"
with = ["loopback"]
limits = { memory = "32M" }
uncharged = true
expect = "memory_limit"

[[except]]
when = ["rlimit"]
expect = "escaped"
exception = "RLIMIT_AS does not count kernel memory"
--- */
#include "netlink_answers.c"

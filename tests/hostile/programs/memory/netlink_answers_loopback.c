/* ---
class = "memory"
attempts = "the same with a loopback interface, where netlink is allowed"
must = "the memory limit ends it"
held_by = "the supervisor, who counts what a run's netlink sockets hold"
with = ["loopback"]
limits = { memory = "32M" }
uncharged = true
expect = "memory_limit"
except = [
  { when = ["rlimit"], expect = "escaped", exception = "RLIMIT_AS does not count the kernel's memory" },
]
--- */
#include "netlink_answers.c"

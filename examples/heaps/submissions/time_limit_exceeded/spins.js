// Runs in a circle: the limit on CPU time ends it.
for (;;);

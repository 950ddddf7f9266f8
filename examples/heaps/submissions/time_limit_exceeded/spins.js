// Spins endlessly. The CPU time limit ends it.
for (;;);

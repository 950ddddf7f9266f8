// Spins without end. The CPU time limit ends it.
for (;;);

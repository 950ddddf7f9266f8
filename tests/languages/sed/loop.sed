:more
b more

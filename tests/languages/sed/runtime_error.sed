q 3

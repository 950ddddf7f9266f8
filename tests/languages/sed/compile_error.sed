s/x

missing

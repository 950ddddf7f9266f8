blocks = []
loop { blocks << "x" * (1 << 20) }

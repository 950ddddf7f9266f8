def blocks = []
while (true) blocks << new byte[1 << 20]

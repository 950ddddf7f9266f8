blocks = []
while True:
    blocks.append(bytearray(b"1" * (1 << 20)))

blocks = []
loop blocks.push Buffer.alloc 1 << 20, 1

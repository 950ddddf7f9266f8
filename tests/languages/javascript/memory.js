const blocks = [];
for (;;) blocks.push(Buffer.alloc(1 << 20, 1));

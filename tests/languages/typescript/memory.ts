declare const Buffer: any;

const blocks: any[] = [];
for (;;) blocks.push(Buffer.alloc(1 << 20, 1));

test("memory", () => {
  const blocks: number[][] = [];
  for (;;) blocks.push(new Array(1 << 17).fill(1.5));
});

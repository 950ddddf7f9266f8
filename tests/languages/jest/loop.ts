test("loop", () => {
  for (;;) {}
});

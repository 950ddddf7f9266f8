test("runtime_error", () => {
  throw new Error("error");
});

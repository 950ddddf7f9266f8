module tb;
  initial missing();
endmodule

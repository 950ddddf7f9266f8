module tb;
  initial $fatal(1, "error");
endmodule

module tb;
  byte blocks[$];
  initial forever blocks.push_back(1);
endmodule

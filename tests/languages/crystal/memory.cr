blocks = [] of Bytes
loop do
  blocks << Bytes.new(1 << 20, 1_u8)
end

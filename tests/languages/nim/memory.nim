var blocks: seq[string]
while true:
  blocks.add newString(1 shl 20)
  for index in 0 ..< 256:
    blocks[^1][index * 4096] = 'x'

var count = 0
while true:
  count = count xor 1

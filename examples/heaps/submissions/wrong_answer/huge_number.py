# Says that there are 10^30000 stones on the heap. A validator that makes room for them, or turns the
# digits into a number, is in trouble, and that would be a judge error. Wrong answer.
print("1" + "0" * 30000)

# Announces 10^30000 stones on the heap. A validator that allocates room for them or converts the
# digits to a number would fail, which would be a judge error. Wrong answer.
print("1" + "0" * 30000)

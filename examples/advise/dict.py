# A dict of two million keys, read in scattered order.
table = {key: key * 7 for key in range(2_000_000)}
total = 0
key = 1
for _ in range(1_500_000):
    key = (key * 1_103_515_245 + 12_345) % 2_000_000
    total += table[key]
print(total)

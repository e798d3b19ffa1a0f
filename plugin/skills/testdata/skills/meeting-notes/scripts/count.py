import sys

print(sum(line.startswith("TODO") for line in sys.argv[1:]), "action items")

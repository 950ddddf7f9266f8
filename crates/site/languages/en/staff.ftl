# Balloons.
balloons = Balloons
balloons-empty = No problem of a round in ICPC mode has been solved yet.
balloons-in-freeze = Also for results that a freeze hides
balloon-submitted = Submitted
balloon-delivered = Delivered
balloon-deliver = Delivered
balloon-undo = Not delivered
balloon-first = First to solve
balloon-unsolved = Delivered, but no longer solved
participant = Participant
participant-group = Group or room

# Printing.
printing = Printing
printing-allowed = Contestants can print
prints-empty = There is nothing to print.
print-new = Print a text
print-text = Or the text itself
print-button = Print
print-title = Title
print-sent = Sent
print-done = Printed
print-mark = Mark as printed
print-waits = Waiting
mistake-print-length = A text to print must have 1 byte to { $kib } KiB.

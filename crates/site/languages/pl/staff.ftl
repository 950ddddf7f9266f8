# Balloons.
balloons = Balony
balloons-empty = Nie rozwiązano jeszcze żadnego zadania rundy w trybie ICPC.
balloons-in-freeze = Także za wyniki ukryte przez zamrożenie
balloon-submitted = Wysłano
balloon-delivered = Doręczono
balloon-deliver = Doręczony
balloon-undo = Niedoręczony
balloon-first = Pierwsze rozwiązanie
balloon-unsolved = Doręczony, ale zadanie nie jest już rozwiązane
participant = Uczestnik
participant-group = Grupa lub sala

# Printing.
printing = Drukowanie
printing-allowed = Zawodnicy mogą drukować
prints-empty = Nie ma nic do wydrukowania.
print-new = Wydrukuj tekst
print-text = Albo sam tekst
print-button = Drukuj
print-title = Tytuł
print-sent = Wysłano
print-done = Wydrukowano
print-mark = Oznacz jako wydrukowane
print-waits = Czeka
mistake-print-length = Tekst do druku musi mieć od 1 bajta do { $kib } KiB.

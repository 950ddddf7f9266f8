# Balloons.
balloons = Ballons
balloons-empty = Es wurde noch keine Aufgabe einer Runde im ICPC-Modus gelöst.
balloons-in-freeze = Auch für Ergebnisse, die das Einfrieren verbirgt
balloon-submitted = Eingesandt
balloon-delivered = Überbracht
balloon-deliver = Überbracht
balloon-undo = Nicht überbracht
balloon-first = Als Erste gelöst
balloon-unsolved = Überbracht, aber nicht mehr gelöst
participant = Teilnehmer
participant-group = Gruppe oder Raum

# Printing.
printing = Drucken
printing-allowed = Teilnehmer können drucken
prints-empty = Es gibt nichts zu drucken.
print-new = Einen Text drucken
print-text = Oder der Text selbst
print-button = Drucken
print-title = Titel
print-sent = Gesendet
print-done = Gedruckt
print-mark = Als gedruckt markieren
print-waits = Wartet
mistake-print-length = Ein Text zum Drucken muss 1 Byte bis { $kib } KiB groß sein.

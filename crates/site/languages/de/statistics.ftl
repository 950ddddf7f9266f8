# Statistics of contests.
statistics = Statistik
statistics-not-shown = Die Statistik folgt der Rangliste, die noch nicht angezeigt wird.
statistics-times = Einsendungen im Zeitverlauf
statistics-since-start = Zeit seit dem Beginn
statistics-since-first = Zeit seit der ersten Einsendung
statistics-days = { $days } d
statistics-range = { $from } bis unter { $to }
statistics-results = Ergebnisse nach Aufgaben
statistics-rejected = Abgelehnt
statistics-pending = Offen
statistics-basis-all = Alle Einsendungen werden gezählt.
statistics-basis-finals =
    Von jedem Teilnehmer wird eine Einsendung gezählt, dieselbe wie in der Rangliste.
statistics-basis-attempts =
    Versuche werden wie in der Rangliste gezählt: bis zum richtigen und ohne Übersetzungsfehler.
statistics-initial =
    Bis zu den vollständigen Ergebnissen werden hier die Ergebnisse der Vorabtests gezählt.
statistics-by-points = Teilnehmer nach Punkten
statistics-by-solved = Teilnehmer nach gelösten Aufgaben

# Charts.
chart-numbers = Zahlen als Tabelle
chart-summary =
    Anzahl der Balken: { $bars }. Der höchste ist { $name } mit { $count }. Die Tabelle darunter
    enthält alle Zahlen.

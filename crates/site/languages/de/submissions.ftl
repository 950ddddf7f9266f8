# Sending a source.
submit-by-name = Nach dem Dateinamen
submit-file = Datei
submit-file-title = Eine Datei einsenden
submit-file-hint = Wenn Sie eine Datei wählen, wird sie anstelle des Quelltexts darunter gesendet.
submit-source = Quelltext
submit-tab-hint = Tab rückt ein. Um das Feld mit Tab zu verlassen, drücken Sie zuerst Escape.
submit-ignore = Diese Einsendung in der Rangliste ignorieren
submit-to = Lösung zu { $problem } einsenden

# Trying a program.
try-title = Ausprobieren: { $problem }
try-interactive =
    Programme zu dieser Aufgabe kommunizieren mit einem Interaktor und können deshalb nicht
    ausprobiert werden.
try-source = Oder der Quelltext selbst
try-run = Ausführen
try-hint = Das Programm läuft mit den Limits der Aufgabe. Es wird nichts gespeichert.
try-compile-error = Der Compiler hat den Quelltext abgelehnt.
try-failed = Das Programm ist fehlgeschlagen: { $failure }
try-ended = Das Programm wurde normal beendet.
try-rest = Der Rest wird nicht angezeigt.

# A submission.
submissions-all = Alle Einsendungen
submission-title = Einsendung #{ $id }
submission-judge-failed = Die Bewertung ist fehlgeschlagen
submission-compiler = Compiler
submission-progress = { $done } von { $all } Tests sind bewertet.
submission-tests = Tests
submission-full-results = Vollständige Ergebnisse: { $time }
submission-download = { $file } herunterladen
submission-changes = Änderungen seit Einsendung #{ $id }
submission-too-large =
    Quelltexte mit mehr als { $kib } KiB werden weder verglichen noch hervorgehoben.
submission-same = Beide Quelltexte sind gleich.
submission-ignored-in-ranking = (in der Rangliste ignoriert)
submission-package-own = (Einsendung des Aufgabenpakets)
submission-cpu-time = Höchste CPU-Zeit
submission-memory = Höchster Speicherverbrauch
submission-judgements = Bewertungen
submission-judgement = Bewertung
submission-rejudging = Neubewertung
submission-counts = { $state }, zählt
submission-test = Test
submission-memory-column = Speicher
submission-comment = Kommentar
submission-groups = Gruppen
submission-groups-hint =
    Die Punkte der Gruppen sind die des Aufgabenpakets. In dieser Runde zählt die Aufgabe
    { $points } Punkte.
submission-ignore = In der Rangliste ignorieren
submission-count = In der Rangliste zählen
submission-stop = Bewertung anhalten
submission-handed-in = Nachgereicht
submission-by-staff = von der Leitung
submit-left = Sie haben noch { $left } von { $max } Einsendungen.
submit-size = Ein Quelltext darf höchstens { $kib } KiB haben.
submit-next = Sie können wieder einsenden ab { $time }.
submit-interval = Nach einer Einsendung müssen Sie { $seconds } Sekunden bis zur nächsten warten.

# Practice.
practice-submit = Zum Üben einsenden
submit-not-open =
    Es wurde nichts eingesendet, weil die Runde diese Einsendung jetzt nicht annimmt. Kopieren Sie
    den Quelltext von dieser Seite. Sobald die Seite der Aufgabe die Schaltfläche „Zum Üben einsenden“ hat, können Sie ihn dort einsenden.
practice-hint =
    Die Runde ist vorbei. Diese Einsendung ist zum Üben: Sie ändert kein Ergebnis und keine
    Rangliste.
virtual-title = Virtuelle Teilnahme
virtual-lead =
    Die Runde ist vorbei. Sie können virtuell daran teilnehmen, mit einer eigenen Uhr. Ihre
    Einsendungen zum Üben zählen für die Rangliste auf dieser Seite, die die Ergebnisse der
    Teilnehmer nach derselben Zeit in der Runde zeigt. Kein Ergebnis der Runde ändert sich, und
    Hinweise und Lösungen sind für Sie geschlossen, bis Ihre Uhr endet.
virtual-start = Jetzt starten, Dauer: { $duration }
virtual-end = Jetzt beenden
virtual-lasts = Sie dauert { $duration }, und Sie können sie früher beenden.
virtual-closed = geschlossen: eine andere Runde verwendet sie
virtual-no-problem =
    Zurzeit kann keine Aufgabe dieser Runde geübt werden, weil andere Runden mit diesen
    Aufgaben nicht abgeschlossen sind.
virtual-over =
    Ihre virtuelle Teilnahme ist vorbei. Dies ist die endgültige Rangliste mit Ihrem Ergebnis.
virtual-place = Mit diesem Ergebnis wären Sie auf Platz { $place }.
virtual-refresh = Rangliste aktualisieren
ranking-virtual = virtuell

# Times. Months are numbers, starting at 1.
time-words = { $day }. { $month ->
        [1] Januar
        [2] Februar
        [3] März
        [4] April
        [5] Mai
        [6] Juni
        [7] Juli
        [8] August
        [9] September
        [10] Oktober
        [11] November
       *[other] Dezember
    } { $year }, { $clock }
time-always = von Anfang an
time-never = nie

# Time zones.
time-zone = Zeitzone
time-zone-of-site = Wie die Website ({ $zone })
time-zone-of-page = Wie der Wettbewerb oder die Website
zone-field-hint =
    Zeiten in diesem Formular gelten in der Zeitzone { $zone }. Zeigen die Uhren eine Zeit zweimal,
    weil sie zurückgestellt werden, so zählt die erste.

# Durations.
duration-seconds = { $seconds } s
duration-minutes = { $minutes } min
duration-minutes-seconds = { $minutes } min { $seconds } s
duration-hours = { $hours } h
duration-hours-minutes = { $hours } h { $minutes } min
duration-days =
    { $days ->
        [one] { $days } Tag
       *[other] { $days } Tage
    } { $hours } h
memory-mib = { $mib } MiB
milliseconds = { $ms } ms

# The state of a round.
round-not-begun = Noch nicht begonnen
round-begins-in = Bis zum Beginn: { $time }
round-running = Läuft
round-ends-in = Restzeit: { $time }
round-over = Beendet

# Verdicts, and states of submissions.
verdict-accepted = Richtig
verdict-wrong-answer = Falsche Antwort
verdict-time-limit = Zeitlimit überschritten
verdict-memory-limit = Speicherlimit überschritten
verdict-output-limit = Ausgabelimit überschritten
verdict-run-time-error = Laufzeitfehler
verdict-compile-error = Übersetzungsfehler
status-judge-error = Fehler beim Bewerten
status-not-judged = Nicht bewertet
status-initial = Vorabtests: { $verdict }
status-judging = Wird bewertet
status-waiting = Wartet
status-received = Angekommen

# Words that several pages use.
save = Speichern
name = Name
problem = Aufgabe
user = Benutzer
time = Zeit
language = Sprache
result = Ergebnis
points = Punkte
visible-to = Sichtbar für
visible-all-people = Alle
settings = Einstellungen
your-submissions = Ihre Einsendungen

# Lists of submissions.
submission = Einsendung
submissions = Einsendungen
submissions-empty = Es gibt keine Einsendungen.
submissions-earlier = Frühere Einsendungen
submission-ignored = (ignoriert)
submission-practice = (Übung)
submission-of-package = (aus dem Aufgabenpaket)

# The statement of a problem.
statement-time-limit = Zeitlimit
statement-memory-limit = Speicherlimit
statement-kind = Art
statement-interactive = interaktiv
statement-markdown = Aufgabenstellung ({ $language })
statement-pdf = Aufgabenstellung als PDF ({ $language })
statement-latex = Aufgabenstellung als LaTeX-Quelltext ({ $language })
statement-example = Beispiel { $number }
statement-input = Eingabe
statement-output = Ausgabe
copy = Kopieren
copied = Kopiert

# Words for roles, scopes, and states of judgements and jobs.
role-user = Benutzer
role-teacher = Lehrkraft
role-admin = Administrator
member-contestant = Teilnehmer
member-moderator = Moderator
member-owner = Eigentümer
judgement-queued = wartet
judgement-running = läuft
judgement-done = fertig
judgement-fault = Störung
judgement-cancelled = abgebrochen
job-queued = wartet
job-running = läuft
job-stopping = wird angehalten
job-done = fertig
job-failed = fehlgeschlagen
job-cancelled = abgebrochen
job-add-problem = Aufgabe hinzufügen
job-add-version = Version hinzufügen
job-change-statement = Aufgabenstellung ändern
job-compile-statements = Aufgabenstellungen kompilieren
job-reset-limits = Zeitlimits neu festlegen
job-merge-problems = Aufgaben zusammenführen
job-delete-problem = Aufgabe löschen
job-delete-contest = Wettbewerb löschen
job-delete-round = Runde löschen
job-delete-round-problem = Aufgabe einer Runde löschen
job-compare-sources = Quelltexte eines Wettbewerbs vergleichen

# More words that several pages use.
actions = Aktionen
all = Alle
note = Anmerkung
version = Version
state = Zustand
role = Rolle
round = Runde
group = Gruppe
by = Von
added = Hinzugefügt
started = Begonnen
ended = Beendet
delete = Löschen
remove = Entfernen
download = Herunterladen
none = keine
submit = Einsenden
judge-again = Neu bewerten
your-password = Ihr Passwort
label = Kürzel
colon = { $what }: { $detail }

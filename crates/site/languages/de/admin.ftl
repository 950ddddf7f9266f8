# Users as administrators see them.
users = Benutzer
users-add = Benutzer hinzufügen
users-csv = Als CSV exportieren
users-json = Als JSON exportieren
users-sign-up = Registrierung
users-since = Seit
users-role-and-state = Rolle und Zustand
users-disabled = { $role }, gesperrt
users-further = Weitere Benutzer
user-confirm = Geben Sie zur Bestätigung den Benutzernamen ein
user-into = Benutzername des Benutzers, der erhalten bleibt
user-disable = Gesperrt: der Benutzer kann sich nicht anmelden
user-sign-in = Anmeldung
user-reset-shown =
    Mit diesem Link kann der Benutzer einmal und innerhalb von 24 Stunden ein neues Passwort
    wählen. Er wird nur jetzt angezeigt:
user-reset-make = Link für ein neues Passwort erstellen
user-sessions-end = Alle Sitzungen beenden
user-merge = Mit einem anderen Benutzer zusammenführen
user-merge-hint =
    Einsendungen, Aufgaben und Mitgliedschaften gehen auf den anderen Benutzer über, und die höhere
    der beiden Rollen bleibt erhalten. Das kann nicht rückgängig gemacht werden.
user-merge-button = Zusammenführen
user-delete-hint =
    Alle Einsendungen des Benutzers werden gelöscht, auch in vergangenen Ranglisten. Aufgaben
    gehören dann Ihnen. Das kann nicht rückgängig gemacht werden. Um Ergebnisse zu behalten, sperren
    Sie den Benutzer stattdessen.
user-delete = Benutzer löschen
sign-up-new-users = Neue Benutzer
sign-up-open = Alle können sich registrieren
sign-up-link = Nur mit dem Link dieser Website
sign-up-closed = Nur Administratoren fügen Benutzer hinzu
sign-up-link-shown = Mit diesem Link kann man sich registrieren. Er wird nur jetzt angezeigt:
sign-up-hint =
    Wenn Sie die zweite Auswahl speichern, entsteht ein neuer Link, und der alte wird ungültig.

# Wrong passwords.
relax-title = Falsche Passwörter
relax-until = Falsche Passwörter sperren bis { $time } keinen Benutzernamen.
relax-hours = Stunden, in denen falsche Passwörter keinen Benutzernamen sperren
relax-hint =
    Zehn falsche Passwörter sperren einen Benutzernamen für 15 Minuten an der Adresse, von der sie
    kamen. In einer Runde, in der alle eine Adresse haben, könnte ein Teilnehmer so die
    Benutzernamen anderer sperren. Verwenden Sie dies nur mit Passwörtern, die man nicht erraten
    kann. Browser, in denen sich ein Benutzer schon angemeldet hat, können andere nie sperren.
mistake-relax-hours = Die Zahl der Stunden muss zwischen 0 und { $max } liegen.

# Jobs.
jobs = Aufträge
job = Auftrag
job-what = Aufgabe
job-subject = Aufgabe oder Wettbewerb
job-title = Auftrag #{ $id }
jobs-empty = Es gibt keine Aufträge.
job-log = Protokoll
job-log-download = Protokoll herunterladen
job-stop = Auftrag anhalten
job-restart = Auftrag erneut starten

# The queue, the log of changes, and faults.
queue = Warteschlange
queue-priority = Priorität
queue-attempt = Versuch
queue-worker = Arbeitsprozess
queue-queued = Eingereiht
queue-fault = Störung
audit-title = Änderungsprotokoll
audit-action = Aktion
audit-object = Objekt
audit-filter = Filtern
audit-address = Adresse
audit-empty = Es gibt keine Änderungen.
audit-refused = abgelehnt
audit-earlier = Frühere Änderungen
faults = Störungen
fault-title = Störung #{ $id }
faults-lead =
    Fehler, die eine Bewertung verhindert haben. Die betroffenen Einsendungen warten, bis die
    Störung geschlossen wird.
fault-what = Was fehlgeschlagen ist
fault-first = Zuerst
fault-last = Zuletzt
fault-package = Das Aufgabenpaket kann nicht bewertet werden
fault-machine = Die Bewertung ist mehrmals fehlgeschlagen
fault-closed = geschlossen am { $time }
fault-open = offen
faults-empty = Es gibt keine Störungen.
fault-version = { $problem }, Version { $version }
fault-waiting = Wartende Einsendungen
fault-close = Störung schließen und die Einsendungen neu bewerten
fault-close-hint =
    Sie werden mit der Version bewertet, die ihre Runden oder Aufgaben jetzt verwenden. Die Störung
    bleibt offen, solange Einsendungen warten, die Sie nicht verwalten.
fault-evidence = Belege
fault-attempt = Einsendung #{ $submission }, Versuch { $attempt }, { $time }
fault-attempt-worker =
    Einsendung #{ $submission }, Versuch { $attempt }, Arbeitsprozess { $worker }, { $time }

# Workers on other machines.
workers = Arbeitsprozesse
workers-lead = Arbeitsprozesse bewerten Einsendungen auf anderen Rechnern.
workers-empty = Es gibt keine Arbeitsprozesse. { $command } fügt einen hinzu.
workers-different = Verschiedene Versionen
workers-different-hint =
    Diese Sprachen sind in verschiedenen Versionen installiert. Ein Ergebnis kann daher vom Rechner
    abhängen. Installieren Sie überall dieselben Versionen.
workers-same-hint =
    Nur die Version der Website wird verwendet, oder die der meisten Arbeitsprozesse, wenn die Website nicht bewertet. Ein Arbeitsprozess mit einer anderen bewertet diese Sprache nicht.
worker-load = In Arbeit / Plätze
worker-speed = CPU-Zeit einer festen Berechnung
worker-classes = Klassen
worker-languages = Sprachen
worker-program = Programm
worker-seen = Zuletzt gesehen
worker-ready = bereit
worker-away = abwesend
worker-new = nie gesehen
worker-disabled = deaktiviert
worker-probation = auf Probe
worker-probation-since = Seit { $time }, weil er an Einsendungen gescheitert ist, die andere bewertet haben. Er bewertet wieder, sobald er eine bekannte Einsendung bewertet hat.
worker-trust = Probezeit von { $name } beenden
worker-enable = { $name } aktivieren
worker-disable = { $name } deaktivieren

# Rejudgings.
rejudgings = Neubewertungen
rejudgings-all = Alle Neubewertungen
rejudging = Neubewertung
rejudging-title = Neubewertung #{ $id }
rejudging-new = Einsendungen neu bewerten
rejudging-reason = Grund
rejudgings-empty = Es gibt keine Neubewertungen.
rejudging-to-judge = noch { $count } zu bewerten
rejudging-waits = wartet auf eine Entscheidung
rejudging-applied = übernommen
rejudging-dropped = verworfen
rejudging-lead =
    Die bisherigen Ergebnisse und Plätze gelten weiter, bis Sie die neuen Ergebnisse übernehmen.
    Leere Felder wählen alle Einsendungen aus.
rejudging-round-problem = Aufgabe einer Runde
rejudging-version = Version des Aufgabenpakets
rejudging-version-of = { $problem }, Version { $number }
rejudging-chosen = Ausgewählte Einsendungen
rejudging-narrow = Auswahl aktualisieren
rejudging-narrow-hint =
    Diese Schaltfläche zeigt die Runden und Aufgaben des gewählten Wettbewerbs und die Versionen der
    gewählten Aufgabe.
rejudging-user = Benutzer (Benutzername)
rejudging-verdict = Bisheriges Ergebnis
rejudging-repeats = Wiederholt
rejudging-verdicts = Ergebnisse
rejudging-changed = Einsendungen mit anderem Ergebnis
rejudging-without = { $count ->
        [one] { $count } Einsendung hat kein neues Ergebnis und behält das alte.
       *[other] { $count } Einsendungen haben kein neues Ergebnis und behalten das alte.
    }
rejudging-apply = Neue Ergebnisse übernehmen
rejudging-drop = Alte Ergebnisse behalten
rejudging-repeat = Wiederholen
rejudging-no-verdict = Keines
rejudging-no-results = Es gibt keine neuen Ergebnisse.
rejudging-old-verdict = Altes Ergebnis
rejudging-new-verdict = Neu: { $verdict }
rejudging-old-result = Altes Ergebnis
rejudging-new-result = Neues Ergebnis
rejudging-changes = { $count ->
        [one] { $count } Einsendung ändert sich.
       *[other] { $count } Einsendungen ändern sich.
    }
rejudging-ranks = Plätze: { $contest }
rejudging-old-place = Alter Platz
rejudging-old-sum = Alte Summe
rejudging-new-place = Neuer Platz
rejudging-new-sum = Neue Summe
rejudging-no-change = Es ändert sich kein Platz und keine Summe.
rejudging-decide-hint =
    Wenn Sie die neuen Ergebnisse übernehmen, gelten sie sofort. Wenn Sie die alten behalten, werden
    die neuen verworfen.

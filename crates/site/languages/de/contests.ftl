# Contests.
contest = Wettbewerb
contests = Wettbewerbe
contests-add = Wettbewerb hinzufügen
contests-add-button = Wettbewerb hinzufügen
contests-empty = Es gibt keine Wettbewerbe, die für Sie sichtbar sind.
contests-sign-in = Melden Sie sich an, um private Wettbewerbe zu sehen
contests-earlier = Frühere Wettbewerbe
contest-visible-members = Mitglieder
contest-private = Privat: nur Mitglieder
contest-public = Öffentlich: alle
contest-time-zone-hint =
    Die Seiten des Wettbewerbs zeigen Zeiten in dieser Zone. Wer in seinem Konto eine Zeitzone
    gewählt hat, sieht Zeiten in jener Zone.
contest-tab-problems = Aufgaben
contest-tab-ranking = Rangliste
contest-tab-members = Mitglieder
contest-tab-participants = Teilnehmer
contest-tab-judge-again = Neu bewerten
contest-change-round = Runde ändern
contest-no-round = Es hat noch keine Runde begonnen.
contest-add-round = Runde hinzufügen
contest-add-round-button = Runde hinzufügen
contest-copy = Wettbewerb kopieren
contest-delete = Wettbewerb löschen

# The times of a round.
round-start-between = Start zwischen
round-and = { $from } und { $until }
round-begins = Beginn
round-ends = Ende
round-full-results = Vollständige Ergebnisse
round-full-results-thaw = nach der Freigabe der Rangliste
round-frozen = Rangliste eingefroren
round-frozen-from = ab { $from }
round-frozen-to = von { $from } bis { $until }
round-start-clock = Uhr starten ({ $duration })
round-clock-not-started = Uhr nicht gestartet
round-start-until = Sie können bis { $time } starten, noch { $left } lang.
round-shown-in = Die Aufgaben erscheinen in { $time }
round-opens-itself = Diese Seite öffnet die Runde von selbst, wenn sie beginnt.
round-start-late = Ein Start jetzt lässt { $left } von { $full }, weil die Runde vorher endet.
round-start-early =
    Für die vollen { $full } ist ein Start bis { $until } nötig. Ein späterer Start lässt weniger
    Zeit, weil die Uhr mit dem Ende der Runde stehen bleibt.
round-start-hint =
    Sie sehen die Aufgaben, sobald Ihre Uhr läuft. Die Uhr kann nicht angehalten werden.

# The settings of rounds and of their problems.
round-field-hint = Ein leeres Feld bedeutet: kein Beginn oder kein Ende.
round-field-full-results = Vollständige Ergebnisse ab
round-field-full-results-empty =
    Leer: wenn die Runde beginnt, im ICPC-Modus wenn sie endet oder die eingefrorene
    Rangliste freigegeben wird
round-field-ranking = Rangliste ab
round-field-empty = Leer: wenn die Runde beginnt
round-copy = Runde kopieren
round-delete = Runde löschen
round-problem-number = Nummer der Aufgabe (in ihrer Adresse)
round-final-method = Welche Einsendung zählt
round-method-best = Die mit den meisten Punkten
round-method-last = Die letzte, die sich übersetzen lässt
round-reveal = Was Teilnehmer vor den vollständigen Ergebnissen sehen
round-problem-version = Version des Aufgabenpakets
round-problem-points = Punkte in dieser Runde (leer: die des Aufgabenpakets)
round-problem-points-hint =
    Die Punkte jeder Einsendung werden umgerechnet und auf Hundertstel gerundet.
round-version-hint =
    Eine neue Version gilt für spätere Einsendungen. Frühere behalten ihre Ergebnisse, bis sie neu
    bewertet werden, was die nächste Seite anbietet.
round-judge-all-again = Alle neu bewerten
round-problem-remove = Aus der Runde entfernen
round-pause = Bewertung anhalten
round-paused = Die Bewertung ist angehalten. Einsendungen warten.
round-continue = Bewertung fortsetzen
round-move-up = Nach oben
round-move-down = Nach unten

# The scoring of a round.
rules-title = Wertung
rules-mode = Modus
rules-mode-points = Punkte der gewerteten Einsendungen
rules-mode-icpc = ICPC: gelöste Aufgaben, dann Strafzeit
rules-penalty = Strafminuten für jeden falschen Versuch (ICPC-Modus)
rules-window-title = Persönliche Zeit der Teilnehmer
rules-window = Persönliche Zeit in Minuten (leer: alle Teilnehmer haben dieselbe Zeit)
rules-window-hint =
    Mit persönlicher Zeit startet jeder Teilnehmer zwischen Beginn und Ende der Runde eine Uhr und
    sieht dann die Aufgaben.
rules-freeze-title = Einfrieren der Rangliste
rules-freeze = Rangliste einfrieren ab (leer: nie)
rules-thaw = Rangliste freigeben ab (leer: über die Schaltfläche)
round-save = Runde speichern
rules-frozen-since = Die Rangliste ist seit { $time } eingefroren.
rules-thaw-now = Rangliste jetzt freigeben
rules-colour = Farbe in Ranglisten und der Ballons
rules-colour-save = Farbe speichern

# Members, and the link with which users enter.
members-none = Kein Mitglied
members-change = Mitglied hinzufügen, ändern oder entfernen
members-leave-hint =
    Wer kein Mitglied ist, kann über den Link wieder beitreten. Um jemanden auszuschließen,
    disqualifizieren Sie den Teilnehmer.
members-link = Zugangslink
members-link-shown =
    Teilnehmer können dem Wettbewerb mit diesem Link beitreten. Er wird nur jetzt angezeigt:
members-link-make = Neuen Link erstellen
members-link-remove = Link entfernen
members-link-hint = Ein neuer Link macht den alten ungültig.
enter-button = Am Wettbewerb teilnehmen
enter-hint =
    { $sign_in } oder { $sign_up }, um teilzunehmen. Danach kommen Sie auf diese Seite zurück.
enter-sign-up = registrieren

# Participants.
participants-login = Benutzername oder Mitglieder
participants-organization = Organisation
participants-differences = Abweichungen
participants-empty = Es gibt keine Teilnehmer.
participants-add-team = Team hinzufügen
participants-add-team-button = Team hinzufügen
participants-in-team = (in einem Team)
participants-team = Team: { $members }
participant-hidden = verborgen
participant-unofficial = außer Konkurrenz
participant-delay = Verschiebung { $minutes } min
participant-extra = Zusatzzeit { $minutes } min
participant-penalty = Strafzeit { $minutes } min
participant-disqualified = disqualifiziert
participant-disqualification = Disqualifikation
participant-disqualify = Disqualifizieren
participant-reinstate = Disqualifikation aufheben
participant-reason = Grund, den der Teilnehmer sieht
participant-disqualify-hint =
    Ein disqualifizierter Teilnehmer hat keinen Platz und kann weder einsenden, fragen und drucken
    noch wieder beitreten. Alles bleibt erhalten, bis die Disqualifikation aufgehoben wird.
participant-remove = Teilnehmer entfernen
participant-remove-hint = Nur ein Teilnehmer ohne Einsendungen kann entfernt werden.
participant-name-of-user = Name (leer: der des Benutzers)
participant-unofficial-field = Außer Konkurrenz: nimmt keinen Platz in der Rangliste ein
participant-hidden-field = Verborgen: nur die Leitung sieht ihn in der Rangliste
participant-delay-field = Verschiebung der Runden in Minuten
participant-extra-field = Zusatzzeit in Minuten
participant-penalty-field = Zusätzliche Strafzeit in Minuten (ICPC-Modus)
participant-times-hint =
    Eigene Zeiten gelten nur für diesen Teilnehmer. In einem öffentlichen Wettbewerb bestimmen die
    Zeiten der Runde, was Gäste sehen.
participant-members = Mitglieder
participant-add-member = Mitglied hinzufügen
participant-team-hint =
    Mitglieder teilen sich die Einsendungen des Teams. Frühere Einsendungen eines Mitglieds gehören
    weiterhin nur ihm.

# Rankings.
ranking = Rangliste
ranking-projector = Beameransicht
ranking-view = Ansicht
ranking-view-staff = Leitung
ranking-view-public = Öffentlichkeit
ranking-show = Anzeigen
ranking-not-shown = Die Rangliste wird noch nicht angezeigt.
ranking-frozen =
    Die Rangliste ist seit { $time } eingefroren. Spätere Einsendungen werden als offen angezeigt.
ranking-place = Platz
ranking-solved = Gelöst
ranking-penalty = Strafzeit
ranking-sum = Summe
ranking-empty = Es gibt keine Ergebnisse.
ranking-icpc-hint =
    Eine gelöste Aufgabe zeigt +, die Zahl der falschen Versuche und die Minute der Lösung. Ihre
    Strafzeit ist diese Minute plus { $minutes } Minuten für jeden falschen Versuch. Ein Stern
    kennzeichnet die erste Lösung, ein Fragezeichen die Zahl der offenen Versuche.
ranking-hidden = (verborgen)
ranking-unofficial = (außer Konkurrenz)
ranking-first = zuerst gelöst

contest-copy-name = { $name } (Kopie)

# More time for a round that runs.
extend-minutes = Runde um Minuten verlängern
extend-reason = Grund, der angekündigt wird (optional)
extend-button = Verlängern und ankündigen
extend-hint =
    Das Ende verschiebt sich, und mit ihm ein Einfrieren, das noch nicht begonnen hat, und
    vollständige Ergebnisse, die auf das Ende folgen. Persönliche Zeit wird nicht länger.
extend-notice = { $round } dauert { $minutes } Minuten länger, bis { $time }.

# Files that the staff hands in.
hand-in-title = Eine Datei nachreichen
hand-in-time = Zeit der Einsendung
hand-in-time-hint = Leer: jetzt
hand-in-reason = Grund, den der Teilnehmer sieht
hand-in-button = Datei nachreichen
hand-in-hint =
    Die Datei zählt, als hätte der Teilnehmer sie zu dieser Zeit eingesendet, die innerhalb seiner
    Runde liegen muss. Der Grund steht auf der Seite der Einsendung und im Protokoll der
    Änderungen.

# What contestants see before the full results, from little to much.
reveal-hidden = Nichts: nur, dass die Einsendung angekommen ist
reveal-initial = Die Ergebnisse der Vorabtests
reveal-score = Auch die Punkte
reveal-verdict = Auch das Urteil über alle Tests
reveal-first = Auch den ersten Test, der fehlgeschlagen ist
reveal-all = Alles: die Ergebnisse aller Tests
reveal-preview = Vorschau: was Teilnehmer sehen werden
reveal-preview-part = Teil des Ergebnisses
reveal-part-initial = Ergebnisse der Vorabtests, Meldungen des Compilers
reveal-part-score = Punkte
reveal-part-verdict = Urteil über alle Tests, etwa „Falsche Antwort“
reveal-part-first = Name, Urteil, Zeit und Speicher des ersten Tests, der fehlgeschlagen ist
reveal-part-tests = Ergebnisse aller Tests, Kommentare des Prüfprogramms
reveal-part-source = Eigener Quelltext
reveal-preview-hint =
    Die Vorabtests sind die Beispiele eines ICPC-Pakets oder Gruppe 0 eines Sim-Pakets. Im
    ICPC-Modus sehen Teilnehmer immer mindestens das Urteil. Ab der Zeit der vollständigen
    Ergebnisse sehen sie alles.
yes = ja
no = nein

# What contestants may submit.
submission-rules-title = Einsendungen
submission-rules-hint =
    Ein leeres Feld bedeutet: keine Grenze. Diese Regeln gelten für jede Aufgabe der Runde.
submission-rules-of-problem = Ein leeres Feld bedeutet: Es gilt die Regel der Runde.
submission-rules-count = Höchstzahl der Einsendungen zu einer Aufgabe
submission-rules-interval = Mindestzeit zwischen zwei Einsendungen, in Sekunden
submission-rules-size = Größter Quelltext, in KiB
submission-rules-languages = Erlaubte Sprachen (ohne Auswahl: alle)

# The problems of a round, as a participant stands.
problem-solved = gelöst
problem-tried = versucht
round-method-subtasks = Summe der besten Punkte jeder Teilaufgabe (IOI 2017)
round-ranking-never = Die Rangliste nie Teilnehmern und Gästen zeigen

# The form for a contest with its first round.
contest-first-round = Erste Runde
contest-first-round-field = Name der Runde (leer: ohne Runde)
contest-first-round-name = Runde 1
contest-first-problems = Aufgaben der Runde
round-problem-name = Aufgabe: Geben Sie einen Teil ihres Namens ein
rules-colour-none = Keine Farbe

# Certificates.
certificates = Urkunden
certificate-own = Ihre Urkunde
certificate = Urkunde
certificate-last-place = Letzter Platz, der eine Urkunde erhält (leer: alle)
certificates-wait =
    Urkunden können gedruckt werden, sobald die vollen Ergebnisse aller Runden gezeigt werden und keine Rangliste eingefroren ist.
certificates-hint =
    { $count ->
        [one] Eine Urkunde. Drucken Sie diese Seite: Die Urkunde passt auf ein Blatt.
       *[other] { $count } Urkunden. Drucken Sie diese Seite: Jede Urkunde passt auf ein Blatt.
    }
certificate-place = Platz { $place } von { $all }
certificate-place-in-group = Platz { $place } von { $all } in der Gruppe { $group }
certificate-missing = In dieser Rangliste gibt es keine Urkunde für Sie.
certificate-took-part = hat teilgenommen

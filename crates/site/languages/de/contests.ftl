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
round-frozen = Rangliste eingefroren
round-frozen-from = ab { $from }
round-frozen-to = von { $from } bis { $until }
round-start-clock = Uhr starten ({ $duration })
round-start-hint = Sie sehen die Aufgaben, sobald Ihre Uhr läuft. Sie kann nicht angehalten werden.

# The sources of a contest.
similar = Ähnliche Quelltexte
similar-hint =
    Paare von Quelltexten verschiedener Teilnehmer, die mindestens { $least } % ihrer Struktur
    gemeinsam haben. Namen, Kommentare und Formatierung zählen nicht, ebenso wenig das, was viele
    Teilnehmer haben. Ein Paar ist ein Grund zum Vergleichen und kein Beweis: Kurze und einfache
    Aufgaben haben ähnliche Lösungen.
similar-least = Mindestens (Prozent)
similar-none = Keine zwei Quelltexte sind ähnlich. Verglichene Aufgaben: { $problems }.
similar-compare = Quelltexte jetzt vergleichen
similar-again = Noch einmal vergleichen
similar-runs = Ein Auftrag für diesen Vergleich wartet oder läuft.
similar-missing = Die Quelltexte wurden noch nicht verglichen.
similar-made =
    { $sources ->
        [one] Ein Quelltext wurde verglichen: { $time }.
       *[other] { $sources } Quelltexte wurden verglichen: { $time }.
    }
similar-newer = Neuere Einsendungen sind nicht Teil dieses Vergleichs.
similar-first = Erster Teilnehmer
similar-second = Zweiter Teilnehmer
sources-archive = Alle Quelltexte als .zip, für JPlag, MOSS oder Dolos
refusal-too-many-sources =
    Die Quelltexte haben mehr als { $mib } MiB. Exportieren Sie stattdessen den Wettbewerb.

# Problems and packages.
package-file = Aufgabenpaket (ZIP-Archiv im ICPC- oder Sim-Format)

problems = Aufgaben
problems-add = Aufgabe hinzufügen
problems-add-button = Aufgabe hinzufügen
problems-empty = Es gibt keine Aufgaben, die für Sie sichtbar sind.
problems-number = Nummer
problems-further = Weitere Aufgaben
problems-tag = Schlagwort
problems-not-found = Keine für Sie sichtbare Aufgabe hat diesen Namen und dieses Schlagwort.
problems-all = Alle Aufgaben
problem-visible-owner = Eigentümer
problem-visible-teachers = Lehrkräfte
problem-private = Privat: nur Sie
problem-contest-only = Für Wettbewerbe: Lehrkräfte dürfen sie verwenden
problem-public = Öffentlich: alle
problem-try = Programm ausprobieren
problem-download = Aufgabenpaket herunterladen
problem-judge-again = Einsendungen neu bewerten
problem-tags = Schlagwörter: { $tags }
problem-versions = Versionen, Limits und Einsendungen des Aufgabenpakets
problem-delete = Aufgabe löschen
problem-merge = Mit einer anderen Aufgabe zusammenführen
problem-merge-hint =
    Runden, Versionen, Einsendungen und Schlagwörter gehen auf die andere Aufgabe über.
problem-merge-number = Nummer der anderen Aufgabe
problem-merge-rejudge =
    Deren Aufgabenpaket in Ihren Runden verwenden, die nicht laufen, und deren Einsendungen neu bewerten
problem-merge-kept =
    { $count ->
        [one] Eine Runde mit dieser Aufgabe behält ihre Version, weil sie läuft oder Sie den Wettbewerb nicht verwalten.
       *[other] { $count } Runden mit dieser Aufgabe behalten ihre Versionen, weil sie laufen oder Sie die Wettbewerbe nicht verwalten.
    }
problem-merge-button = Zusammenführen
problem-warnings = Warnungen zum Aufgabenpaket
problem-short-name = Kurzname
problem-tags-field = Schlagwörter (durch Kommas getrennt)
problem-tags-hidden = Schlagwörter, die nur Lehrkräfte sehen

# Versions of problems.
versions-title = { $name }: Versionen
versions-go-to-problem = Zur Aufgabe
versions-hint =
    Eine neue Version ändert keinen Wettbewerb: Jede Runde behält die Version, die sie verwendet.
versions-solutions = Einsendungen des Aufgabenpakets
versions-add = Version hinzufügen
versions-what = Was sich geändert hat
versions-statement = Aufgabenstellung, Hinweise oder Lösung ändern
versions-statement-file =
    Eine Aufgabenstellung, etwa problem.en.md, problem.en.pdf oder problem.en.tex, oder ein Text,
    der nach dem Wettbewerb sichtbar wird, etwa hints.en.md oder solution.en.md
versions-statement-button = Version mit diesem Text hinzufügen
versions-latex = Aufgabenstellungen in LaTeX ohne PDF
versions-latex-hint =
    Solange es kein PDF gibt, bieten die Seiten den Quelltext ohne seine Kommentare an.
versions-latex-button = Aufgabenstellungen erneut kompilieren
versions-limits = Zeitlimits
versions-limits-button =
    Laufzeiten der Musterlösung messen und eine Version mit passenden Limits hinzufügen
versions-jobs = Aufträge
versions-package = Aufgabenpaket
versions-expectation = Erwartung
versions-unexpected = nicht wie erwartet
versions-expected = wie erwartet
versions-no-solutions = Das Aufgabenpaket enthält keine Einsendungen.

# Copying and deleting.
removal-warning =
    Alle Einsendungen dazu und ihre Ergebnisse werden ebenfalls gelöscht. Das kann nicht rückgängig
    gemacht werden.
packages-hint = Sie können bis zu { $max } Pakete gleichzeitig auswählen, zusammen { $mib } MiB.
package-hint =
    Ein Paket im Format der ICPC oder von Sim, ein Sinolpack von oioioi, ein volles Paket von Polygon,
    eine Aufgabe von CMS (Italian YAML) oder ein Export von Hydro, als .zip-Archiv. Die Seite der
    Versionen nennt, was nicht übernommen wurde.

# Hints and solutions.
editorial = Hinweise und Lösung
editorial-hints = Hinweise
editorial-solution = Lösung
editorial-opens =
    Bis { $time } sehen dies nur die Leitung und der Besitzer der Aufgabe. Danach sind alle Runden
    mit dieser Aufgabe vorbei, die dafür zählen.
editorial-without-end =
    Dies sehen nur die Leitung und der Besitzer der Aufgabe, weil eine Runde mit dieser Aufgabe kein Ende hat.
editorial-markdown = Text ({ $language })
editorial-pdf = Als PDF ({ $language })
editorial-latex = Als LaTeX-Quelltext ({ $language })

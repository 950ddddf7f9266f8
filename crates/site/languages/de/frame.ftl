# The language itself.
language-name = Deutsch
# The decimal separator, and the separator between groups of digits.
number-decimal = ,
number-group = .

# The frame of all pages, and the navigation.
frame-skip = Zum Inhalt springen
frame-footer = millibox { $version }. Alle Zeiten gelten in der Zeitzone { $zone }.
frame-language = Sprache
nav-pages = Seiten
nav-breadcrumb = Navigationspfad
nav-server-time = Serverzeit
nav-contests = Wettbewerbe
nav-problems = Aufgaben
nav-submissions = Einsendungen
nav-jobs = Aufträge
nav-users = Benutzer
nav-queue = Warteschlange
nav-faults = Störungen
nav-rejudgings = Neubewertungen

# The language itself.
language-name = Polski
# The decimal separator, and the separator between groups of digits.
number-decimal = ,
number-group = { "\u00A0" }

# The frame of all pages, and the navigation.
frame-skip = Przejdź do treści
frame-footer = millibox { $version }. Czasy podano w strefie { $zone }.
frame-language = Język
nav-pages = Strony
nav-breadcrumb = Ścieżka nawigacji
nav-server-time = Czas serwera
nav-contests = Konkursy
nav-problems = Zadania
nav-submissions = Zgłoszenia
nav-jobs = Procesy
nav-users = Użytkownicy
nav-queue = Kolejka
nav-faults = Awarie
nav-rejudgings = Ponowne oceny

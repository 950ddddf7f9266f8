# Problems and packages.
package-file = Paczka (archiwum ZIP w formacie ICPC lub Sim)

problems = Zadania
problems-add = Dodaj zadanie
problems-add-button = Dodaj zadanie
problems-empty = Nie ma zadań, które możesz zobaczyć.
problems-number = Numer
problems-further = Dalsze zadania
problems-tag = Tag
problems-not-found = Żadne zadanie, które możesz zobaczyć, nie ma takiej nazwy i takiego tagu.
problems-all = Wszystkie zadania
problem-visible-owner = Właściciel
problem-visible-teachers = Nauczyciele
problem-private = Prywatne: tylko Ty
problem-contest-only = Do konkursów: mogą go używać nauczyciele
problem-public = Publiczne: wszyscy
problem-try = Wypróbuj program
problem-download = Pobierz paczkę
problem-judge-again = Oceń zgłoszenia ponownie
problem-tags = Tagi: { $tags }
problem-versions = Wersje, limity i zgłoszenia z paczki
problem-delete = Usuń zadanie
problem-merge = Scal z innym zadaniem
problem-merge-hint = Rundy, wersje, zgłoszenia i tagi przejdą do drugiego zadania.
problem-merge-number = Numer drugiego zadania
problem-merge-rejudge =
    Użyj jego paczki w Twoich rundach, które nie trwają, i oceń ponownie ich zgłoszenia
problem-merge-kept =
    { $count ->
        [one] Jedna runda z tym zadaniem zachowa swoją wersję, bo trwa lub nie zarządzasz zawodami.
        [few] { $count } rundy z tym zadaniem zachowają swoje wersje, bo trwają lub nie zarządzasz zawodami.
       *[other] { $count } rund z tym zadaniem zachowa swoje wersje, bo trwają lub nie zarządzasz zawodami.
    }
problem-merge-button = Scal
problem-warnings = Ostrzeżenia dotyczące paczki
problem-short-name = Krótka nazwa
problem-tags-field = Tagi (oddzielone przecinkami)
problem-tags-hidden = Tagi widoczne tylko dla nauczycieli

# Versions of problems.
versions-title = { $name }: wersje
versions-go-to-problem = Przejdź do zadania
versions-hint = Nowa wersja nie zmienia żadnego konkursu: każda runda zachowuje swoją wersję.
versions-solutions = Zgłoszenia z paczki
versions-add = Dodaj wersję
versions-what = Co się zmieniło
versions-statement = Zmień treść zadania, wskazówki lub rozwiązanie
versions-statement-file =
    Treść zadania, na przykład problem.en.md, problem.en.pdf lub problem.en.tex, albo tekst widoczny
    po konkursie, na przykład hints.en.md lub solution.en.md
versions-statement-button = Dodaj wersję z tym tekstem
versions-latex = Treści zadań w LaTeX-u bez pliku PDF
versions-latex-hint = Dopóki nie ma pliku PDF, strony udostępniają źródło bez komentarzy.
versions-latex-button = Skompiluj treści ponownie
versions-limits = Limity czasu
versions-limits-button =
    Zmierz czasy rozwiązania wzorcowego i dodaj wersję z wynikającymi z nich limitami
versions-jobs = Procesy
versions-package = Paczka
versions-expectation = Oczekiwanie
versions-unexpected = niezgodne z oczekiwaniem
versions-expected = zgodne z oczekiwaniem
versions-no-solutions = Paczka nie zawiera zgłoszeń.

# Copying and deleting.
removal-warning =
    Usunięte zostaną także wszystkie związane z tym zgłoszenia i ich wyniki. Tego nie można cofnąć.
packages-hint = Możesz wybrać do { $max } paczek naraz, razem { $mib } MiB.
package-hint =
    Paczka w formacie ICPC lub Sima, sinolpack z oioioi, pełna paczka z Polygona, zadanie CMS (Italian
    YAML) albo eksport z Hydro, jako archiwum .zip. Strona wersji wymienia to, czego nie przejęto.

# Hints and solutions.
editorial = Wskazówki i rozwiązanie
editorial-hints = Wskazówki
editorial-solution = Rozwiązanie
editorial-opens =
    Do { $time }, gdy skończą się wszystkie rundy z tym zadaniem, które się tu liczą, widzą to tylko
    organizatorzy i właściciel zadania.
editorial-without-end =
    Widzą to tylko organizatorzy i właściciel zadania, bo runda z tym zadaniem nie ma końca.
editorial-markdown = Tekst ({ $language })
editorial-pdf = Jako PDF ({ $language })
editorial-latex = Jako źródło LaTeX ({ $language })

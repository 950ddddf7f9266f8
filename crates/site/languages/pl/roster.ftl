# Import of users and teams.
roster-list = Albo sama lista
roster-file-teams = Zespoły (teams.tsv, teams.json)
roster-file-groups = Grupy (groups.tsv, groups.json)
roster-file-organizations = Organizacje (organizations.json)
roster-file-accounts = Użytkownicy (accounts.tsv, accounts.json, CSV)
roster-teams-title = Importuj zespoły
roster-teams-hint =
    Pliki z DOMjudge i z Contest API. Zespoły wymagają grup i organizacji, do których się odwołują.
    Konta stają się użytkownikami serwisu i członkami swoich zespołów. Późniejsze importy rozpoznają
    zespół po jego identyfikatorze.
roster-preview = Podgląd
roster-hint =
    CSV lub TSV z nazwami kolumn w pierwszym wierszu, JSON z tablicą obiektów albo pliki z DOMjudge:
    najwyżej { $lines } wierszy w pliku i { $kib } KiB łącznie. Dla użytkownika wymagany jest tylko
    login. Istniejący użytkownicy zostaną zmienieni; nowi użytkownicy bez hasła dostaną link, pod
    którym je wybiorą. Nic się nie zmieni, dopóki nie zastosujesz podglądu.
roster-counts =
    Wiersze, które coś dodają: { $added }, coś zmieniają: { $changed }, nic nie zmieniają: { $kept }
    lub są odrzucone: { $refused }.
roster-unused =
    { $file }: te kolumny nie są używane: { $names }. Import czyta kolumny { $read } oraz ich częste
    nazwy w innych językach.
roster-number = Wiersz
roster-id = Identyfikator
roster-teams = Zespoły
roster-email = E-mail
roster-effect = Skutek
roster-add = Dodanie
roster-change = Zmiana
roster-keep = Bez zmian
roster-refuse = Odrzucony
roster-joins = dołącza do zespołu { $team }
roster-password-listed = z listy
roster-password-link = wybierze je użytkownik lub zostanie wygenerowane
roster-correct =
    Dopóki jakiś wiersz jest odrzucony, nie można niczego zastosować. Najpierw popraw pliki.
roster-other-files = Wybierz inne pliki
roster-issue = Nowi użytkownicy bez hasła dostają
roster-issue-links =
    link, pod którym je wybiorą; działa jeden raz, a jego ważność w dniach to { $days }
roster-issue-passwords =
    czytelne hasło o entropii { $bits } bitów (liczba użytkowników: najwyżej { $max })
roster-apply = Zastosuj i pokaż wynik
roster-apply-csv = Zastosuj i pobierz linki lub hasła jako CSV
roster-apply-hint =
    Linki i hasła są pokazywane tylko raz: na karteczkach do wydrukowania i wycięcia albo jako CSV.
    Takie hasło wystarcza, bo serwis ogranicza liczbę nieudanych logowań.
roster-done = Listy zostały zastosowane
roster-link = Link
roster-made-none = Żaden użytkownik nie potrzebuje linku.
roster-made =
    Pod tymi adresami nowi użytkownicy mogą wybrać hasła. Są pokazywane tylko teraz. Wydrukuj
    stronę albo skopiuj adresy.
roster-made-passwords =
    Tymi hasłami nowi użytkownicy mogą się zalogować. Są pokazywane tylko teraz. Wydrukuj stronę
    i daj każdemu jego karteczkę.
roster-site = Serwis
roster-go-to-users = Przejdź do użytkowników
refusal-roster-changed =
    Od czasu podglądu zmienili się użytkownicy lub zespoły albo podgląd dotyczył innych list.
    Niczego nie zastosowano. Wyświetl nowy podgląd.

# Errors in lists.
roster-in-file = { $file }: { $detail }
roster-format =
    Wiersz { $line } nie zawiera nazwy kolumny, która wskazuje użytkownika, zespół lub grupę.
    Zawiera: { $found }. Możliwe nazwy: { $accepted }. Nazwy kolumn muszą być w pierwszym wierszu,
    rozdzielone przecinkami, średnikami lub tabulatorami.
roster-workbook =
    Plik jest skoroszytem. W arkuszu kalkulacyjnym wybierz „Zapisz jako” lub „Pobierz” i format CSV
    (UTF-8).
roster-encoding =
    Wiersz { $line } nie jest tekstem w UTF-8 ani UTF-16. Zapisz plik jako CSV (UTF-8).
roster-version = Nieznana wersja „{ $version }” w pierwszym wierszu.
roster-size = Lista musi zawierać od 1 do { $max } wierszy.
roster-bytes = Pliki mogą mieć łącznie najwyżej { $kib } KiB.
roster-passwords = Lista może zawierać najwyżej { $max } haseł.
roster-json = JSON: { $detail }
roster-malformed =
    Wiersz ma więcej lub mniej pól niż pierwszy albo nie jest obiektem. Pole, które zawiera
    separator lub cudzysłów, ujmij w cudzysłów.
roster-role = Nieznana rola „{ $role }”; użyj user, teacher lub admin.
roster-twice = { $name } jest już na liście.
roster-id-wrong = Identyfikator musi mieć od 1 do 64 znaków i nie może zawierać spacji.
roster-group-missing = Grupy { $id } nie ma na liście grup.
roster-organization-missing = Organizacji { $id } nie ma na liście organizacji.
roster-team-missing = Zespołu { $id } nie ma ani na liście zespołów, ani w konkursie.

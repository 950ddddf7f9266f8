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
roster-password-link = wybierze je użytkownik
roster-correct =
    Dopóki jakiś wiersz jest odrzucony, nie można niczego zastosować. Najpierw popraw pliki.
roster-other-files = Wybierz inne pliki
roster-apply = Zastosuj i pokaż linki
roster-apply-csv = Zastosuj i pobierz linki jako CSV
roster-apply-hint =
    Każdy nowy użytkownik bez hasła dostaje link, pod którym je wybierze. Link jest pokazywany jeden
    raz i działa jeden raz. Liczba dni, przez które jest ważny: { $days }.
roster-done = Listy zostały zastosowane
roster-link = Link
roster-made-none = Żaden użytkownik nie potrzebuje linku.
roster-made =
    Pod tymi ścieżkami nowi użytkownicy mogą wybrać hasła. Są pokazywane tylko teraz. Wydrukuj
    stronę albo skopiuj tabelę.
roster-go-to-users = Przejdź do użytkowników
refusal-roster-changed =
    Od czasu podglądu zmienili się użytkownicy lub zespoły albo podgląd dotyczył innych list.
    Niczego nie zastosowano. Wyświetl nowy podgląd.

# Errors in lists.
roster-in-file = { $file }: { $detail }
roster-format = Lista nie jest w formacie CSV, TSV ani JSON z kolumną login lub id.
roster-version = Nieznana wersja „{ $version }” w pierwszym wierszu.
roster-size = Lista musi zawierać od 1 do { $max } wierszy.
roster-bytes = Pliki mogą mieć łącznie najwyżej { $kib } KiB.
roster-passwords = Lista może zawierać najwyżej { $max } haseł.
roster-json = JSON: { $detail }
roster-malformed = Nieprawidłowy wiersz.
roster-role = Nieznana rola „{ $role }”; użyj user, teacher lub admin.
roster-twice = { $name } jest już na liście.
roster-id-wrong = Identyfikator musi mieć od 1 do 64 znaków i nie może zawierać spacji.
roster-group-missing = Grupy { $id } nie ma na liście grup.
roster-organization-missing = Organizacji { $id } nie ma na liście organizacji.
roster-team-missing = Zespołu { $id } nie ma ani na liście zespołów, ani w konkursie.

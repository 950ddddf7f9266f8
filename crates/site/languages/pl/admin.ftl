# Users as administrators see them.
users = Użytkownicy
users-add = Dodaj użytkowników
users-csv = Eksportuj jako CSV
users-json = Eksportuj jako JSON
users-sign-up = Rejestracja
users-since = Od
users-role-and-state = Rola i stan
users-disabled = { $role }, zablokowany
users-further = Więcej użytkowników
user-confirm = Aby potwierdzić, wpisz login
user-into = Login użytkownika, który ma pozostać
user-disable = Zablokowany: użytkownik nie może się zalogować
user-sign-in = Logowanie
user-reset-shown =
    Za pomocą tego linku użytkownik może ustawić nowe hasło, jednorazowo i w ciągu 24 godzin. Jest
    pokazywany tylko teraz:
user-reset-make = Utwórz link do zmiany hasła
user-sessions-end = Zakończ wszystkie sesje
user-merge = Scal z innym użytkownikiem
user-merge-hint =
    Zgłoszenia, zadania i członkostwa przejdą na drugiego użytkownika, który otrzyma wyższą z obu
    ról. Tego nie można cofnąć.
user-merge-button = Scal
user-delete-hint =
    Wszystkie zgłoszenia użytkownika zostaną usunięte, także z dawnych rankingów. Jego zadania staną
    się Twoje. Tego nie można cofnąć. Aby zachować wyniki, zablokuj użytkownika.
user-delete = Usuń użytkownika
sign-up-new-users = Nowi użytkownicy
sign-up-open = Każdy może się zarejestrować
sign-up-link = Tylko przez link tego serwisu
sign-up-closed = Użytkowników dodają tylko administratorzy
sign-up-link-shown = Zarejestrować się można za pomocą tego linku. Jest pokazywany tylko teraz:
sign-up-hint = Zapisanie drugiej opcji tworzy nowy link i unieważnia poprzedni.

# Wrong passwords.
relax-title = Błędne hasła
relax-until = Błędne hasła nie blokują żadnego loginu do { $time }.
relax-hours = Liczba godzin, przez które błędne hasła nie blokują żadnego loginu
relax-hint =
    Dziesięć błędnych haseł blokuje login na 15 minut pod adresem, z którego przyszły. W rundzie, w
    której wszyscy mają wspólny adres, zawodnik mógłby w ten sposób zablokować loginy innych. Używaj
    tego tylko z hasłami, których nie da się odgadnąć. Przeglądarek, w których użytkownik już się
    logował, inni nigdy nie zablokują.
mistake-relax-hours = Liczba godzin musi być od 0 do { $max }.

# Jobs.
jobs = Procesy
job = Proces
job-what = Działanie
job-subject = Zadanie lub konkurs
job-title = Proces #{ $id }
jobs-empty = Nie ma procesów.
job-log = Dziennik
job-log-download = Pobierz dziennik
job-stop = Zatrzymaj proces
job-restart = Uruchom proces ponownie

# The queue, the log of changes, and faults.
queue = Kolejka
queue-priority = Priorytet
queue-attempt = Próba
queue-worker = Proces sprawdzający
queue-queued = Dodano do kolejki
queue-fault = Awaria
audit-title = Dziennik zmian
audit-action = Działanie
audit-object = Obiekt
audit-filter = Filtruj
audit-address = Adres
audit-empty = Nie ma zmian.
audit-refused = odrzucono
audit-earlier = Wcześniejsze zmiany
faults = Awarie
fault-title = Awaria #{ $id }
faults-lead =
    Błędy, które uniemożliwiły ocenę. Zgłoszenia, których dotyczą, czekają na zamknięcie awarii.
fault-what = Co zawiodło
fault-first = Pierwszy raz
fault-last = Ostatni raz
fault-package = Paczki nie można użyć do oceny
fault-machine = Sprawdzanie kilkakrotnie zawiodło
fault-closed = zamknięta { $time }
fault-open = otwarta
faults-empty = Nie ma awarii.
fault-version = { $problem }, wersja { $version }
fault-waiting = Oczekujące zgłoszenia
fault-close = Zamknij awarię i oceń zgłoszenia ponownie
fault-close-hint =
    Zostaną ocenione w wersji, której teraz używają ich rundy lub zadania. Awaria pozostanie otwarta,
    dopóki czekają zgłoszenia, którymi nie zarządzasz.
fault-evidence = Szczegóły
fault-attempt = Zgłoszenie #{ $submission }, próba { $attempt }, { $time }
fault-attempt-worker =
    Zgłoszenie #{ $submission }, próba { $attempt }, proces sprawdzający { $worker }, { $time }

# Workers on other machines.
workers = Procesy sprawdzające
workers-lead = Procesy sprawdzające oceniają zgłoszenia na innych komputerach.
workers-empty = Nie ma procesów sprawdzających. Dodaje je { $command }.
workers-different = Różne wersje
workers-different-hint =
    Te języki są zainstalowane w różnych wersjach, więc wynik może zależeć od komputera. Zainstaluj
    wszędzie te same wersje.
workers-same-hint =
    Używana jest tylko wersja serwisu, a jeśli serwis nie ocenia, wersja większości procesów. Proces z inną wersją nie ocenia w tym języku.
worker-load = W toku / miejsca
worker-speed = Czas CPU stałego obliczenia
worker-classes = Klasy
worker-languages = Języki
worker-program = Program
worker-seen = Ostatnio widziany
worker-ready = gotowy
worker-away = nieobecny
worker-new = nigdy niewidziany
worker-disabled = wyłączony
worker-probation = na próbie
worker-probation-since = Od { $time }, ponieważ zawiódł przy zgłoszeniach, które inne procesy oceniły. Znów ocenia, gdy oceni znane zgłoszenie.
worker-trust = Zakończ próbę { $name }
worker-enable = Włącz { $name }
worker-disable = Wyłącz { $name }

# Rejudgings.
rejudgings = Ponowne oceny
rejudgings-all = Wszystkie ponowne oceny
rejudging = Ponowna ocena
rejudging-title = Ponowna ocena #{ $id }
rejudging-new = Oceń zgłoszenia ponownie
rejudging-reason = Powód
rejudgings-empty = Nie ma ponownych ocen.
rejudging-to-judge = do oceny: { $count }
rejudging-waits = czeka na decyzję
rejudging-applied = zastosowana
rejudging-dropped = odrzucona
rejudging-lead =
    Obecne wyniki i miejsca obowiązują, dopóki nie zastosujesz nowych wyników. Puste pola oznaczają
    wszystkie zgłoszenia.
rejudging-round-problem = Zadanie rundy
rejudging-version = Wersja paczki
rejudging-version-of = { $problem }, wersja { $number }
rejudging-chosen = Wybrane zgłoszenia
rejudging-narrow = Odśwież listy
rejudging-narrow-hint =
    Ten przycisk pokazuje rundy i zadania wybranego konkursu oraz wersje wybranego zadania.
rejudging-user = Użytkownik (login)
rejudging-verdict = Obecny werdykt
rejudging-repeats = Powtarza
rejudging-verdicts = Werdykty
rejudging-changed = Zgłoszenia z innym wynikiem
rejudging-without = { $count ->
        [one] { $count } zgłoszenie nie ma nowego wyniku i zachowuje stary.
        [few] { $count } zgłoszenia nie mają nowego wyniku i zachowują stary.
       *[other] { $count } zgłoszeń nie ma nowego wyniku i zachowuje stary.
    }
rejudging-apply = Zastosuj nowe wyniki
rejudging-drop = Zachowaj stare wyniki
rejudging-repeat = Powtórz
rejudging-no-verdict = Brak
rejudging-no-results = Nie ma nowych wyników.
rejudging-old-verdict = Stary werdykt
rejudging-new-verdict = Nowy: { $verdict }
rejudging-old-result = Stary wynik
rejudging-new-result = Nowy wynik
rejudging-changes = { $count ->
        [one] Zmienia się { $count } zgłoszenie.
        [few] Zmieniają się { $count } zgłoszenia.
       *[other] Zmienia się { $count } zgłoszeń.
    }
rejudging-ranks = Miejsca: { $contest }
rejudging-old-place = Stare miejsce
rejudging-old-sum = Stara suma
rejudging-new-place = Nowe miejsce
rejudging-new-sum = Nowa suma
rejudging-no-change = Nie zmienia się żadne miejsce ani suma.
rejudging-decide-hint =
    Nowe wyniki po zastosowaniu liczą się od razu. Jeśli zachowasz stare, nowe zostaną odrzucone.

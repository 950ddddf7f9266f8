# Times. Months are numbers, starting at 1.
time-words = { $day } { $month ->
        [1] stycznia
        [2] lutego
        [3] marca
        [4] kwietnia
        [5] maja
        [6] czerwca
        [7] lipca
        [8] sierpnia
        [9] września
        [10] października
        [11] listopada
       *[other] grudnia
    } { $year }, { $clock }
time-always = od początku
time-never = nigdy

# Time zones.
time-zone = Strefa czasowa
time-zone-of-site = Jak witryna ({ $zone })
time-zone-of-page = Jak zawody albo witryna
zone-field-hint =
    Czasy w tym formularzu podaje się w strefie { $zone }. Jeśli przy cofnięciu zegarów jakaś godzina
    występuje dwa razy, liczy się pierwsza.

# Durations.
duration-seconds = { $seconds } s
duration-minutes = { $minutes } min
duration-minutes-seconds = { $minutes } min { $seconds } s
duration-hours = { $hours } h
duration-hours-minutes = { $hours } h { $minutes } min
duration-days =
    { $days ->
        [one] { $days } dzień
       *[other] { $days } dni
    } { $hours } h
memory-mib = { $mib } MiB
milliseconds = { $ms } ms

# The state of a round.
round-not-begun = Jeszcze się nie zaczęła
round-begins-in = Początek za { $time }
round-running = Trwa
round-ends-in = Koniec za { $time }
round-over = Zakończona

# Verdicts, and states of submissions.
verdict-accepted = Zaakceptowane
verdict-wrong-answer = Błędna odpowiedź
verdict-time-limit = Przekroczony limit czasu
verdict-memory-limit = Przekroczony limit pamięci
verdict-output-limit = Przekroczony limit wyjścia
verdict-run-time-error = Błąd wykonania
verdict-compile-error = Błąd kompilacji
status-judge-error = Błąd sprawdzania
status-not-judged = Nie oceniono
status-initial = Testy wstępne: { $verdict }
status-judging = Trwa sprawdzanie
status-waiting = Oczekuje
status-received = Przyjęte

# Words that several pages use.
save = Zapisz
name = Nazwa
problem = Zadanie
user = Użytkownik
time = Czas
language = Język
result = Wynik
points = Punkty
visible-to = Widoczność
visible-all-people = Wszyscy
settings = Ustawienia
your-submissions = Twoje zgłoszenia

# Lists of submissions.
submission = Zgłoszenie
submissions = Zgłoszenia
submissions-empty = Nie ma żadnych zgłoszeń.
submissions-earlier = Wcześniejsze zgłoszenia
submission-ignored = (pominięte)
submission-practice = (trening)
submission-of-package = (z paczki)

# The statement of a problem.
statement-time-limit = Limit czasu
statement-memory-limit = Limit pamięci
statement-kind = Rodzaj
statement-interactive = interaktywne
statement-markdown = Treść zadania ({ $language })
statement-pdf = Treść zadania w PDF ({ $language })
statement-latex = Treść zadania jako źródło LaTeX ({ $language })
statement-example = Przykład { $number }
statement-input = Wejście
statement-output = Wyjście
copy = Kopiuj
copied = Skopiowano

# Words for roles, scopes, and states of judgements and jobs.
role-user = Użytkownik
role-teacher = Nauczyciel
role-admin = Administrator
member-contestant = Zawodnik
member-moderator = Moderator
member-owner = Właściciel
judgement-queued = w kolejce
judgement-running = w toku
judgement-done = zakończone
judgement-fault = awaria
judgement-cancelled = anulowane
job-queued = w kolejce
job-running = w toku
job-stopping = zatrzymywany
job-done = zakończony
job-failed = nieudany
job-cancelled = anulowany
job-add-problem = Dodaj zadanie
job-add-version = Dodaj wersję
job-change-statement = Zmień treść zadania
job-compile-statements = Skompiluj treści zadań
job-reset-limits = Ustal limity czasu na nowo
job-merge-problems = Scal zadania
job-delete-problem = Usuń zadanie
job-delete-contest = Usuń konkurs
job-delete-round = Usuń rundę
job-delete-round-problem = Usuń zadanie z rundy
job-compare-sources = Porównaj kody z konkursu

# More words that several pages use.
actions = Działania
all = Wszystkie
note = Notatka
version = Wersja
state = Stan
role = Rola
round = Runda
group = Grupa
by = Przez
added = Dodano
started = Rozpoczęto
ended = Zakończono
delete = Usuń
remove = Usuń
download = Pobierz
none = brak
submit = Wyślij
judge-again = Oceń ponownie
your-password = Twoje hasło
label = Oznaczenie
colon = { $what }: { $detail }

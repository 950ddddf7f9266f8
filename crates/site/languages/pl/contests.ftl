# Contests.
contest = Konkurs
contests = Konkursy
contests-add = Dodaj konkurs
contests-add-button = Dodaj konkurs
contests-empty = Nie ma konkursów, które możesz zobaczyć.
contests-sign-in = Zaloguj się, aby zobaczyć prywatne konkursy
contests-earlier = Wcześniejsze konkursy
contest-visible-members = Członkowie
contest-private = Prywatny: tylko członkowie
contest-public = Publiczny: wszyscy
contest-time-zone-hint =
    Strony zawodów pokazują czasy w tej strefie. Użytkownicy, którzy na swoim koncie wybrali strefę
    czasową, widzą czasy w tamtej strefie.
contest-tab-problems = Zadania
contest-tab-ranking = Ranking
contest-tab-members = Członkowie
contest-tab-participants = Uczestnicy
contest-tab-judge-again = Oceń ponownie
contest-change-round = Zmień rundę
contest-no-round = Żadna runda jeszcze się nie zaczęła.
contest-add-round = Dodaj rundę
contest-add-round-button = Dodaj rundę
contest-copy = Skopiuj konkurs
contest-delete = Usuń konkurs

# The times of a round.
round-start-between = Rozpoczęcie między
round-and = { $from } a { $until }
round-begins = Początek
round-ends = Koniec
round-full-results = Pełne wyniki
round-full-results-thaw = po odmrożeniu rankingu
round-frozen = Ranking zamrożony
round-frozen-from = od { $from }
round-frozen-to = od { $from } do { $until }
round-start-clock = Uruchom zegar ({ $duration })
round-clock-not-started = Zegar nieuruchomiony
round-start-until = Możesz zacząć do { $time }, jeszcze przez { $left }.
round-shown-in = Zadania pojawią się za { $time }
round-opens-itself = Ta strona sama otworzy rundę, gdy runda się zacznie.
round-start-late = Start teraz pozostawia { $left } z { $full }, bo wcześniej kończy się runda.
round-start-early =
    Aby mieć pełne { $full }, zacznij do { $until }. Późniejszy start daje mniej czasu, bo zegar
    zatrzymuje się z końcem rundy.
round-start-hint = Zadania zobaczysz po uruchomieniu zegara. Zegara nie można zatrzymać.

# The settings of rounds and of their problems.
round-field-hint = Puste pole oznacza brak początku albo końca.
round-field-full-results = Pełne wyniki od
round-field-full-results-empty =
    Puste: od początku rundy, a w trybie ICPC od jej końca lub, po zamrożeniu, od odmrożenia
round-field-ranking = Ranking od
round-field-empty = Puste: od początku rundy
round-copy = Skopiuj rundę
round-delete = Usuń rundę
round-problem-number = Numer zadania (w jego adresie)
round-final-method = Które zgłoszenie się liczy
round-method-best = To z największą liczbą punktów
round-method-last = Ostatnie, które się kompiluje
round-reveal = Co zawodnicy widzą przed pełnymi wynikami
round-problem-version = Wersja paczki
round-problem-points = Punkty w tej rundzie (puste: według paczki)
round-problem-points-hint = Punkty każdego zgłoszenia są przeliczane i zaokrąglane do setnych.
round-version-hint =
    Nowa wersja dotyczy późniejszych zgłoszeń. Wcześniejsze zachowują wyniki, dopóki nie zostaną
    ocenione ponownie, co umożliwia następna strona.
round-judge-all-again = Oceń wszystkie ponownie
round-problem-remove = Usuń z rundy
round-pause = Wstrzymaj sprawdzanie
round-paused = Sprawdzanie jest wstrzymane. Zgłoszenia czekają.
round-continue = Wznów sprawdzanie
round-move-up = W górę
round-move-down = W dół

# The scoring of a round.
rules-title = Punktacja
rules-mode = Tryb
rules-mode-points = Punkty liczonych zgłoszeń
rules-mode-icpc = ICPC: rozwiązane zadania, potem kara
rules-penalty = Minuty kary za każdą błędną próbę (tryb ICPC)
rules-window-title = Czas indywidualny uczestników
rules-window = Czas indywidualny w minutach (puste: wszyscy uczestnicy mają ten sam czas)
rules-window-hint =
    Przy czasie indywidualnym każdy uczestnik uruchamia zegar między początkiem a końcem rundy i
    dopiero wtedy widzi zadania.
rules-freeze-title = Zamrożenie rankingu
rules-freeze = Zamroź ranking od (puste: nigdy)
rules-thaw = Odmroź ranking od (puste: przyciskiem)
round-save = Zapisz rundę
rules-frozen-since = Ranking jest zamrożony od { $time }.
rules-thaw-now = Odmroź ranking teraz
rules-colour = Kolor w rankingach i balonów
rules-colour-save = Zapisz kolor

# Members, and the link with which users enter.
members-none = Nie jest członkiem
members-change = Dodaj, zmień lub usuń członka
members-leave-hint =
    Osoba spoza członków może wejść ponownie przez link. Aby ją wykluczyć, zdyskwalifikuj
    uczestnika.
members-link = Link do konkursu
members-link-shown =
    Zawodnicy mogą dołączyć do konkursu za pomocą tego linku. Jest pokazywany tylko teraz:
members-link-make = Utwórz nowy link
members-link-remove = Usuń link
members-link-hint = Nowy link unieważnia poprzedni.
enter-button = Dołącz do konkursu
enter-hint = { $sign_in } lub { $sign_up }, aby dołączyć. Potem wrócisz na tę stronę.
enter-sign-up = zarejestruj się

# Participants.
participants-login = Login lub członkowie
participants-organization = Organizacja
participants-differences = Ustawienia indywidualne
participants-empty = Nie ma uczestników.
participants-add-team = Dodaj zespół
participants-add-team-button = Dodaj zespół
participants-in-team = (w zespole)
participants-team = Zespół: { $members }
participant-hidden = ukryty
participant-unofficial = poza konkursem
participant-delay = opóźnienie { $minutes } min
participant-extra = dodatkowy czas { $minutes } min
participant-penalty = kara { $minutes } min
participant-disqualified = zdyskwalifikowany
participant-disqualification = Dyskwalifikacja
participant-disqualify = Zdyskwalifikuj
participant-reinstate = Cofnij dyskwalifikację
participant-reason = Powód, który widzi uczestnik
participant-disqualify-hint =
    Zdyskwalifikowany uczestnik nie ma miejsca i nie może zgłaszać rozwiązań, pytać, drukować ani
    wejść ponownie. Wszystko zostaje zachowane do cofnięcia dyskwalifikacji.
participant-remove = Usuń uczestnika
participant-remove-hint = Można usunąć tylko uczestnika bez zgłoszeń.
participant-name-of-user = Nazwa (puste: nazwa użytkownika)
participant-unofficial-field = Poza konkursem: nie zajmuje miejsca w rankingu
participant-hidden-field = Ukryty: w rankingu widzą go tylko organizatorzy
participant-delay-field = Opóźnienie rund w minutach
participant-extra-field = Dodatkowy czas w minutach
participant-penalty-field = Dodatkowa kara w minutach (tryb ICPC)
participant-times-hint =
    Własne czasy dotyczą tylko tego uczestnika. W konkursie publicznym o tym, co widzą goście,
    decydują czasy rundy.
participant-members = Członkowie
participant-add-member = Dodaj członka
participant-team-hint =
    Członkowie współdzielą zgłoszenia zespołu. Wcześniejsze zgłoszenia członka pozostają tylko jego.

# Rankings.
ranking = Ranking
ranking-projector = Widok na rzutnik
ranking-view = Widok
ranking-view-staff = Dla organizatorów
ranking-view-public = Publiczny
ranking-show = Pokaż
ranking-not-shown = Ranking nie jest jeszcze pokazywany.
ranking-frozen =
    Ranking jest zamrożony od { $time }. Wyniki późniejszych zgłoszeń nie są jeszcze znane.
ranking-place = Miejsce
ranking-solved = Rozwiązane
ranking-penalty = Kara
ranking-sum = Suma
ranking-empty = Nie ma wyników.
ranking-icpc-hint =
    Rozwiązane zadanie pokazuje +, liczbę błędnych prób i minutę rozwiązania. Kara to ta minuta oraz
    { $minutes } min za każdą błędną próbę. Gwiazdka oznacza pierwsze rozwiązanie, a znak zapytania
    liczbę nierozstrzygniętych prób.
ranking-hidden = (ukryty)
ranking-unofficial = (poza konkursem)
ranking-first = pierwsze rozwiązanie

contest-copy-name = { $name } (kopia)

# More time for a round that runs.
extend-minutes = Przedłuż rundę o minuty
extend-reason = Powód, który zostanie ogłoszony (opcjonalnie)
extend-button = Przedłuż i ogłoś
extend-hint =
    Przesuwa się koniec, a z nim zamrożenie, które się jeszcze nie zaczęło, oraz pełne wyniki
    pokazywane po końcu. Czas osobisty się nie wydłuża.
extend-notice = { $round } trwa { $minutes } min dłużej, do { $time }.

# Files that the staff hands in.
hand-in-title = Złóż plik
hand-in-time = Czas zgłoszenia
hand-in-time-hint = Puste: teraz
hand-in-reason = Powód, który zobaczy uczestnik
hand-in-button = Złóż plik
hand-in-hint =
    Plik liczy się tak, jakby uczestnik wysłał go w tym czasie, który musi mieścić się w jego
    rundzie. Powód jest pokazany na stronie zgłoszenia i w dzienniku zmian.

# What contestants see before the full results, from little to much.
reveal-hidden = Nic: tylko to, że zgłoszenie dotarło
reveal-initial = Wyniki testów wstępnych
reveal-score = Także punkty
reveal-verdict = Także werdykt na wszystkich testach
reveal-first = Także pierwszy test, który nie przeszedł
reveal-all = Wszystko: wyniki wszystkich testów
reveal-preview = Podgląd: co zobaczą zawodnicy
reveal-preview-part = Część wyniku
reveal-part-initial = Wyniki testów wstępnych, komunikaty kompilatora
reveal-part-score = Punkty
reveal-part-verdict = Werdykt na wszystkich testach, np. „Zła odpowiedź”
reveal-part-first = Nazwa, werdykt, czas i pamięć pierwszego testu, który nie przeszedł
reveal-part-tests = Wyniki wszystkich testów, komentarze sprawdzaczki
reveal-part-source = Własny kod
reveal-preview-hint =
    Testy wstępne to przykłady pakietu ICPC albo grupa 0 pakietu Sim. W trybie ICPC zawodnicy zawsze
    widzą co najmniej werdykt. Od czasu pełnych wyników widzą wszystko.
yes = tak
no = nie

# What contestants may submit.
submission-rules-title = Zgłoszenia
submission-rules-hint = Puste pole oznacza brak limitu. Te zasady dotyczą każdego zadania rundy.
submission-rules-of-problem = Puste pole oznacza, że obowiązuje zasada rundy.
submission-rules-count = Największa liczba zgłoszeń do zadania
submission-rules-interval = Najmniejszy odstęp między zgłoszeniami, w sekundach
submission-rules-size = Największy rozmiar kodu, w KiB
submission-rules-languages = Dozwolone języki (bez wyboru: wszystkie)

# The problems of a round, as a participant stands.
problem-solved = rozwiązane
problem-tried = próbowane
round-method-subtasks = Suma najlepszych punktów za każde podzadanie (IOI 2017)
round-ranking-never = Nigdy nie pokazuj rankingu zawodnikom i gościom

# The form for a contest with its first round.
contest-first-round = Pierwsza runda
contest-first-round-field = Nazwa rundy (puste: bez rundy)
contest-first-round-name = Runda 1
contest-first-problems = Zadania rundy
round-problem-name = Zadanie: wpisz część nazwy
rules-colour-none = Bez koloru

# Certificates.
certificates = Dyplomy
certificate-own = Twój dyplom
certificate = Dyplom
certificate-last-place = Ostatnie miejsce z dyplomem (puste: wszystkie)
certificates-wait =
    Dyplomy można drukować, gdy pokazano pełne wyniki wszystkich rund i żaden ranking nie jest
    zamrożony.
certificates-hint =
    { $count ->
        [one] Jeden dyplom. Wydrukuj tę stronę: dyplom zajmuje jedną kartkę.
        [few] { $count } dyplomy. Wydrukuj tę stronę: każdy zajmuje jedną kartkę.
       *[other] { $count } dyplomów. Wydrukuj tę stronę: każdy zajmuje jedną kartkę.
    }
certificate-place = Miejsce { $place } z { $all }
certificate-place-in-group = Miejsce { $place } z { $all } w grupie { $group }
certificate-missing = W tym rankingu nie ma dla Ciebie dyplomu.
certificate-took-part = Udział w konkursie

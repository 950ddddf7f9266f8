# Pages about requests that were not carried out.
error-malformed =
    Nieprawidłowe żądanie. Sprawdź adres albo wczytaj stronę ponownie i wyślij formularz jeszcze
    raz.
error-too-long =
    Żądanie jest większe, niż pozwala serwis. Paczki formularza mogą mieć razem { $mib } MiB.
error-foreign =
    Ten formularz wysłała strona innego serwisu. Otwórz stronę w tym serwisie i tam wyślij
    formularz.
error-missing = Coś, co podano w formularzu, nie istnieje albo nie masz do tego dostępu.
form-file-again = Wybierz plik ponownie.
form-files-again = Wybierz pliki ponownie.
unsent-title = Zaloguj się, aby to wysłać
unsent-detail =
    Nie jesteś zalogowany, więc nic nie wysłano. Zaloguj się w nowej karcie, wróć na tę stronę
    i wyślij formularz ponownie.
unsent-sign-in = Zaloguj się w nowej karcie
unsent-typed = Wpisany tekst
unsent-send = Wyślij
error-home = Przejdź do strony głównej
error-not-found-title = Nie znaleziono strony
error-not-found-detail = Taka strona nie istnieje albo nie masz do niej dostępu.
error-refused-title = Niedozwolone
error-invalid-title = Nie przyjęto
error-too-often-title = Zbyt wiele prób
error-too-often-detail =
    Zbyt wiele prób. Spróbuj ponownie za { $seconds ->
        [one] { $seconds } sekundę
        [few] { $seconds } sekundy
       *[other] { $seconds } sekund
    }.
error-too-slow-title = Żądanie trwało zbyt długo
error-too-slow-detail =
    Żądanie docierało zbyt wolno i nie zostało wykonane. Spróbuj ponownie przez szybsze łącze.
error-too-many-streams-title = Zbyt wiele otwartych stron
error-too-many-streams-detail =
    Ten użytkownik lub ten adres ma otwartych zbyt wiele stron, które same się odświeżają. Zamknij
    niektóre z nich i wczytaj tę stronę ponownie.
error-conflict-title = Zmieniono w tym samym czasie
error-conflict-detail =
    Inne żądanie zmieniło w tym samym czasie to samo. Wczytaj stronę ponownie i powtórz zmianę,
    jeśli nadal jest potrzebna.
error-busy-title = Serwis jest przeciążony
error-busy-sign-in =
    W tej chwili loguje się zbyt wiele osób. Spróbuj ponownie za kilka sekund.
error-busy-trials =
    W tej chwili wypróbowywanych jest zbyt wiele programów. Spróbuj ponownie za kilka sekund.
error-busy-uploads =
    W tej chwili przesyłanych jest zbyt wiele dużych plików. Spróbuj ponownie za minutę.
error-busy-changes =
    W tej chwili zbyt wiele zmian czeka na bazę danych. Spróbuj ponownie za kilka sekund.
error-busy-rendering =
    W tej chwili wyświetlanych jest zbyt wiele długich tekstów. Spróbuj ponownie za kilka sekund.
error-busy-forms =
    W tej chwili przesyłanych jest zbyt wiele formularzy. Wróć i wyślij swój ponownie.
error-too-large-title = Żądanie jest za duże
error-too-large-detail =
    Bez zalogowania żądanie może mieć najwyżej { $kib } KiB. Zaloguj się, wróć i wyślij je ponownie.
error-internal-title = Błąd serwera
error-internal-detail = Błąd zapisano w dzienniku serwera. Żądanie nie zostało wykonane.

# Why the viewer may not do something now.
refusal-invitation-only =
    Rejestracja jest możliwa tylko na zaproszenie. Skontaktuj się z administratorem.
refusal-last-admin = Serwis musi mieć administratora.
refusal-disk-full =
    Twoje paczki i pliki zajmują { $gib } GiB, czyli tyle, ile może mieć jeden użytkownik. Usuń
    niepotrzebne zadania lub pliki albo zwróć się do administratora.
refusal-too-many-large-packages =
    Możesz teraz dodać jeszcze { $left ->
        [one] { $left } dużą paczkę
        [few] { $left } duże paczki
       *[other] { $left } dużych paczek
    }, bo inaczej zbyt wiele Twoich procesów by oczekiwało. Wyślij formularz z mniejszą liczbą paczek.
refusal-too-many-jobs =
    Liczba Twoich oczekujących procesów wynosi { $max }. Poczekaj, aż niektóre się zakończą, albo
    zatrzymaj je na stronie Procesy.
refusal-own-account = Poproś o to innego administratora.
refusal-totp-on = Hasła jednorazowe są już włączone.
refusal-totp-missing = Najpierw skonfiguruj hasła jednorazowe.
refusal-publish-contest = Tylko administrator może upublicznić konkurs.
refusal-publish-problem = Tylko administrator może upublicznić zadanie.
refusal-problem-in-use = To zadanie jest używane w konkursie. Najpierw usuń je z rund.
refusal-package-submission = To zgłoszenie należy do paczki zadania.
refusal-job-ended = Ten proces już się zakończył.
refusal-job-not-stopped = Ten proces nie został zatrzymany.
refusal-owners-only = Tylko właściciel może dodawać i usuwać właścicieli.
refusal-last-owner = Konkurs musi mieć właściciela.
refusal-participant-has-submissions = Ten uczestnik ma zgłoszenia.
refusal-too-many-tokens = Najpierw usuń jakiś token; masz ich już { $max }.
refusal-disqualified = Zdyskwalifikowano Cię w tym konkursie.
refusal-disqualified-for = Zdyskwalifikowano Cię w tym konkursie: { $reason }
refusal-round-over = Ta runda już się zakończyła.
refusal-round-not-open = Ta runda nie jest otwarta.
refusal-practice-submission = Zgłoszenie treningowe nigdy nie liczy się w konkursie.
refusal-freeze-owner = Tylko właściciel może zmienić czas zamrożenia i odmrożenia rankingu.
refusal-thaw-owner = Tylko właściciel może odmrozić ranking.
refusal-in-queue = To zgłoszenie jest już w kolejce.
refusal-rejudging-decided = Ta ponowna ocena została już zastosowana lub odrzucona.
refusal-rejudging-not-ready =
    Ta ponowna ocena została już zastosowana lub odrzucona albo część jej zgłoszeń czeka jeszcze na
    ocenę.
refusal-rejudging-open = Najpierw zastosuj lub odrzuć tę ponowną ocenę.

# Errors in the fields of a form.
mistake-login = Login musi się składać z 1 do { $max } liter, cyfr, kropek, łączników i podkreśleń.
mistake-name = Nazwa musi mieć od 1 do { $max } znaków.
mistake-email = Adres e-mail musi się składać z nazwy, znaku @ i domeny i nie może zawierać spacji.
mistake-password-length = Hasło musi mieć co najmniej { $min } znaków i najwyżej { $max } bajtów.
mistake-form = Nie można odczytać formularza: { $detail }
mistake-package = Paczka zadania zawiera błędy:
mistake-packages =
    Nie dodano żadnej paczki, bo { $failed ->
        [one] { $failed } z { $total } paczek zawiera błędy
        [few] { $failed } z { $total } paczek zawierają błędy
       *[other] { $failed } z { $total } paczek zawiera błędy
    }. Te pliki nie miały błędów: { $fine }. Wybierz je ponownie, razem z poprawionymi. Błędy:
mistake-packages-all = Nie dodano żadnej paczki, bo wszystkie paczki ({ $total }) zawierają błędy:
mistake-import = Paczki nie można zaimportować: { $detail }.
mistake-wrong-password = Hasło jest nieprawidłowe.
mistake-wrong-present-password = Obecne hasło jest nieprawidłowe.
mistake-wrong-sign-in = Login lub hasło są nieprawidłowe.
mistake-wrong-code = Kod jest nieprawidłowy albo został już użyty.
mistake-login-taken = Ten login jest już zajęty.
mistake-unknown-user = Nie ma użytkownika o tym loginie.
mistake-unknown-login = Nie ma użytkownika „{ $login }”.
mistake-unknown-visibility = Nieznany rodzaj widoczności.
mistake-unknown-role = Nieznana rola.
mistake-submission-target = Podaj albo round_problem, albo problem. practice wymaga round_problem.
mistake-label-taken =
    Inne zadanie tej rundy ma oznaczenie { $label }. Wielkość liter i odstępy nie mają znaczenia.
mistake-time = „{ $text }” nie jest czasem.
mistake-time-skipped =
    W strefie czasowej { $zone } czas { $text } nie istnieje, bo zegary są wtedy przestawiane do
    przodu. Podaj czas wcześniejszy albo późniejszy.
mistake-time-changed =
    Ktoś inny zmienił ten czas od otwarcia formularza. Teraz jest to: { $time }. Zapisz formularz
    ponownie, aby zastąpić go swoim.
mistake-too-many-members =
    Wybrane klasy mają więcej niż { $max } członków. Wybierz mniej klas i dodaj pozostałe
    na stronie Członkowie.
mistake-unknown-zone = Nie ma strefy czasowej „{ $name }”. Użyj nazwy takiej jak Europe/Warsaw.
mistake-number = „{ $text }” nie jest liczbą.
mistake-round-order = Koniec rundy musi przypadać po jej początku.
mistake-personal-time = Czas indywidualny podaje się w minutach.
mistake-penalty = Karę podaje się w minutach.
mistake-icpc-needs-begin = Runda w trybie ICPC musi mieć początek.
mistake-personal-time-needs-end = Runda z czasem indywidualnym musi mieć koniec.
mistake-thaw-order = Ranking można odmrozić dopiero po zamrożeniu.
mistake-colour = Kolor musi się składać ze znaku # i sześciu cyfr szesnastkowych.
mistake-minutes = Opóźnienie, dodatkowy czas i karę podaje się w minutach.
mistake-not-a-member = Ten użytkownik nie jest członkiem konkursu.
mistake-statement-name =
    Plik z treścią zadania musi mieć prostą nazwę z końcówką .md, .pdf lub .tex.
mistake-too-many-tags = Zadanie może mieć najwyżej { $max } tagów.
mistake-same-problem = Wybierz inne zadanie.
mistake-same-user = Wybierz innego użytkownika.
mistake-confirm-login = Aby potwierdzić, wpisz login { $login }.
mistake-token-days = Token może być ważny od 1 do { $max } dni.
mistake-two-files = Wyślij tylko jeden plik.
mistake-too-many-packages = Wyślij najwyżej { $max } paczek naraz.
mistake-long-field = Jedno z pól jest zbyt długie.
mistake-field-not-utf8 = Jedno z pól nie jest tekstem w UTF-8.
mistake-zero-byte =
    Tekst zawiera znak U+0000, którego nie można zapisać. Usuń ten znak.
mistake-zero-byte-in =
    Pole „{ $field }” zawiera znak U+0000, którego nie można zapisać. Usuń ten znak.
mistake-no-submission-fits = Żadne zgłoszenie nie pasuje do filtra.
mistake-no-language = Wybierz język programowania albo wyślij plik z odpowiednim rozszerzeniem.
mistake-language-missing = Ten język programowania nie jest zainstalowany.
mistake-no-source = Wyślij plik albo wpisz kod źródłowy.
mistake-large-source = Kod źródłowy może mieć najwyżej { $kib } KiB.
mistake-large-input = Dane wejściowe mogą mieć najwyżej { $kib } KiB.
mistake-more-minutes = Podaj liczbę minut od 1 do { $max }.
mistake-hand-in-time =
    Czas musi mieścić się w rundzie uczestnika: między { $from } a { $until }.
refusal-round-not-running = Runda nie trwa albo nie ma końca.
refusal-end-changed =
    Koniec rundy zmienił się, odkąd pokazano stronę. Sprawdź nowy koniec, zanim dodasz więcej czasu.
refusal-team-without-members = Drużyna nie ma członków. Najpierw dodaj autora pliku.
mistake-number-range = Podaj liczbę od 1 do { $max }, a nie „{ $text }”.
mistake-language-not-allowed = Ten język nie jest tu dozwolony. Wybierz język z listy.
refusal-no-submissions-left =
    Wykorzystano wszystkie zgłoszenia dozwolone dla tego zadania: { $max }.
mistake-no-such-problem = Wybierz zadanie z listy.

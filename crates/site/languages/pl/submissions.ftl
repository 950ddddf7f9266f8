# Sending a source.
submit-by-name = Według nazwy pliku
submit-file = Plik
submit-file-title = Wyślij plik
submit-file-hint = Jeśli wybierzesz plik, zostanie on wysłany zamiast kodu poniżej.
submit-source = Kod źródłowy
submit-tab-hint = Tab wstawia wcięcie. Aby opuścić pole klawiszem Tab, najpierw naciśnij Escape.
submit-ignore = Pomiń to zgłoszenie w rankingu
submit-to = Wyślij rozwiązanie zadania { $problem }

# Trying a program.
try-title = Wypróbuj: { $problem }
try-interactive =
    Programy do tego zadania komunikują się z interaktorem, więc nie można ich wypróbować.
try-source = Albo sam kod źródłowy
try-run = Uruchom
try-hint = Program działa z limitami zadania. Nic nie jest zapisywane.
try-compile-error = Kompilator odrzucił kod źródłowy.
try-failed = Program zakończył się błędem: { $failure }
try-ended = Program zakończył się normalnie.
try-rest = Reszta nie jest wyświetlana.

# A submission.
submissions-all = Wszystkie zgłoszenia
submission-title = Zgłoszenie #{ $id }
submission-judge-failed = Sprawdzanie nie powiodło się
submission-compiler = Kompilator
submission-progress = Oceniono testy: { $done } z { $all }.
submission-tests = Testy
submission-full-results = Pełne wyniki: { $time }
submission-download = Pobierz { $file }
submission-changes = Zmiany od zgłoszenia #{ $id }
submission-too-large =
    Kody źródłowe większe niż { $kib } KiB nie są porównywane ani kolorowane.
submission-same = Oba kody źródłowe są takie same.
submission-ignored-in-ranking = (pomijane w rankingu)
submission-package-own = (zgłoszenie z paczki)
submission-cpu-time = Największy czas procesora
submission-memory = Największe zużycie pamięci
submission-judgements = Oceny
submission-judgement = Ocena
submission-rejudging = Ponowna ocena
submission-counts = { $state }, liczy się
submission-test = Test
submission-memory-column = Pamięć
submission-comment = Komentarz
submission-groups = Grupy
submission-groups-hint =
    Punkty grup są punktami paczki. W tej rundzie zadanie jest warte { $points } punktów.
submission-ignore = Pomiń w rankingu
submission-count = Uwzględnij w rankingu
submission-stop = Zatrzymaj sprawdzanie
submission-handed-in = Złożone
submission-by-staff = przez prowadzących
submit-left = Pozostało zgłoszeń: { $left } z { $max }.
submit-size = Kod może mieć najwyżej { $kib } KiB.
submit-next = Następne zgłoszenie jest możliwe od { $time }.
submit-interval = Między zgłoszeniami trzeba odczekać { $seconds } s.

# Practice.
practice-submit = Wyślij w ramach treningu
submit-not-open =
    Nic nie zostało wysłane, bo runda nie przyjmuje teraz tego zgłoszenia. Skopiuj kod z tej strony.
    Gdy na stronie zadania pojawi się przycisk „Wyślij w ramach treningu”, możesz go tam wysłać.
practice-hint =
    Runda się skończyła. To zgłoszenie jest treningowe: nie zmienia żadnego wyniku ani rankingu.
virtual-title = Udział wirtualny
virtual-lead =
    Runda się skończyła. Możesz wziąć w niej udział wirtualnie, z własnym zegarem. Twoje zgłoszenia
    treningowe liczą się w rankingu na tej stronie, który pokazuje wyniki uczestników po tym samym
    czasie rundy. Żaden wynik rundy się nie zmienia, a wskazówki i rozwiązania są dla Ciebie
    zamknięte, dopóki Twój zegar nie skończy biec.
virtual-start = Rozpocznij teraz, czas: { $duration }
virtual-end = Zakończ teraz
virtual-lasts = Trwa { $duration } i możesz go zakończyć wcześniej.
virtual-closed = zamknięte: używa go inna runda
virtual-no-problem =
    Żadnego zadania tej rundy nie można teraz ćwiczyć, bo inne rundy z tymi zadaniami nie są
    zakończone.
virtual-over = Twój udział wirtualny się skończył. To jest ranking końcowy z Twoim wynikiem.
virtual-place = Z tym wynikiem byłoby to miejsce { $place }.
virtual-refresh = Odśwież ranking
ranking-virtual = wirtualnie

# Statistics of contests.
statistics = Statystyki
statistics-not-shown = Statystyki odpowiadają rankingowi, który nie jest jeszcze pokazywany.
statistics-times = Zgłoszenia w czasie
statistics-since-start = Czas od początku
statistics-since-first = Czas od pierwszego zgłoszenia
statistics-days = { $days } d
statistics-range = od { $from } do mniej niż { $to }
statistics-results = Wyniki według zadań
statistics-rejected = Odrzucone
statistics-pending = Nierozstrzygnięte
statistics-basis-all = Liczone są wszystkie zgłoszenia.
statistics-basis-finals = Od każdego uczestnika liczone jest jedno zgłoszenie, tak jak w rankingu.
statistics-basis-attempts =
    Próby są liczone tak jak w rankingu: do zaakceptowanej włącznie i bez błędów kompilacji.
statistics-initial = Do czasu pełnych wyników są to wyniki testów wstępnych.
statistics-by-points = Uczestnicy według punktów
statistics-by-solved = Uczestnicy według rozwiązanych zadań

# Charts.
chart-numbers = Liczby w tabeli
chart-summary =
    Liczba słupków: { $bars }. Najwyższy to { $name }: { $count }. Tabela poniżej zawiera wszystkie
    liczby.

# The sources of a contest.
similar = Podobne rozwiązania
similar-hint =
    Pary kodów różnych uczestników, które mają wspólne co najmniej { $least } % struktury. Nazwy,
    komentarze i formatowanie nie liczą się, podobnie jak to, co ma wielu uczestników. Para jest
    powodem do porównania kodów, a nie dowodem: krótkie i proste zadania mają podobne rozwiązania.
similar-least = Co najmniej (procent)
similar-none = Żadne dwa kody nie są podobne. Porównane zadania: { $problems }.
similar-compare = Porównaj kody teraz
similar-again = Porównaj ponownie
similar-runs = Proces tego porównania oczekuje lub działa.
similar-missing = Kody nie były jeszcze porównywane.
similar-made =
    { $sources ->
        [one] Porównano jeden kod: { $time }.
        [few] Porównano { $sources } kody: { $time }.
       *[other] Porównano { $sources } kodów: { $time }.
    }
similar-newer = To porównanie nie obejmuje nowszych zgłoszeń.
similar-first = Pierwszy uczestnik
similar-second = Drugi uczestnik
sources-archive = Wszystkie kody jako .zip, dla JPlag, MOSS lub Dolos
refusal-too-many-sources = Kody mają więcej niż { $mib } MiB. Wyeksportuj konkurs.

# Questions, answers and announcements.
clarifications = Pytania i odpowiedzi
clarifications-unread =
    { $count ->
        [one] { $count } nowa odpowiedź lub ogłoszenie
        [few] { $count } nowe odpowiedzi lub ogłoszenia
       *[other] { $count } nowych odpowiedzi lub ogłoszeń
    }
clarifications-waiting =
    { $count ->
        [one] { $count } pytanie czeka na odpowiedź
        [few] { $count } pytania czekają na odpowiedź
       *[other] { $count } pytań czeka na odpowiedź
    }
clarifications-read = Oznacz jako przeczytane
clarifications-empty = Nie ma pytań ani odpowiedzi.
clarifications-earlier = Wcześniejsze pytania
clarifications-list = Wszystkie pytania w konkursie
clarifications-show = Pokaż
clarifications-all = Wszystkie
clarifications-unanswered = Bez odpowiedzi
clarifications-own = Twoje pytania
filter = Filtruj
clarification-of-contest = Konkurs
clarification-waits = Czeka na odpowiedź
clarification-new = Nowe
clarification-asked-by = Pyta { $name }, { $time }
clarification-answer = Odpowiedź
clarification-answer-number = Odpowiedz na pytanie { $number }
clarification-change = Zmień odpowiedź { $number }
clarification-about = Dotyczy
clarification-text = Treść
announcement = Ogłoszenie
announcements = Ogłoszenia
announcement-new = Dodaj ogłoszenie
announcement-button = Ogłoś
question = Pytanie
question-new = Zapytaj organizatorów
question-button = Zapytaj
question-hint = Organizatorzy odpowiadają tylko Tobie albo wszystkim uczestnikom.
audience-withdrawn = wycofane
audience-author = do autora
audience-all = do wszystkich
audience-quoted = do wszystkich, z pytaniem
audience-choice-withdraw = Organizatorzy: wycofaj ogłoszenie
audience-choice-author = Autor i jego zespół
audience-choice-people = Wszyscy z dostępem do konkursu
audience-choice-all = Wszyscy z dostępem do konkursu: sama odpowiedź
audience-choice-quoted = Wszyscy z dostępem do konkursu: pytanie i odpowiedź
canned-answer = Gotowa odpowiedź
canned-answers = Gotowe odpowiedzi
canned-none = Żadna: treść poniżej
canned-lines = Jedna odpowiedź w każdym wierszu
mistake-text-length = Treść musi mieć od 1 do { $max } znaków.
mistake-canned-answers =
    Konkurs może mieć najwyżej { $max } gotowych odpowiedzi, każda do { $length } znaków.
refusal-answered-meanwhile = W międzyczasie odpowiedział inny organizator.

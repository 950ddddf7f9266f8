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
round-frozen = Ranking zamrożony
round-frozen-from = od { $from }
round-frozen-to = od { $from } do { $until }
round-start-clock = Uruchom zegar ({ $duration })
round-start-hint = Zadania zobaczysz po uruchomieniu zegara. Zegara nie można zatrzymać.

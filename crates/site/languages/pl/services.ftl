# Sign-in with another service.
services = Logowanie przez inne serwisy
service-sign-in = Zaloguj się przez { $name }
service-link = Połącz z serwisem { $name }
service-link-hint =
    Zaloguj się w serwisie { $name }. Potem możesz logować się tutaj także przez { $name }.
service-continue = Przejdź do serwisu { $name }
service-back = Wróć do swojego konta
service-linked = Połączone z serwisem { $name } od
service-unlink = Usuń połączenia
service-unlink-hint =
    Bez połączonego konta potrzebujesz hasła. Administrator może utworzyć link, który pozwoli Ci
    ustawić nowe.
service-none = Nie skonfigurowano żadnego innego serwisu.
service-issuer = Wystawca
service-client = Identyfikator klienta
service-callback = Adres, na który serwis musi zezwolić
service-new-persons = Nowe osoby
service-adds-users = otrzymują konto przy pierwszym logowaniu
service-adds-none = muszą połączyć istniejące konto
refusal-service-flow = To logowanie się zakończyło albo rozpoczęto je w innej przeglądarce. Zaloguj się ponownie.
refusal-service-refused = Inny serwis odrzucił logowanie.
refusal-service-failed = Inny serwis nie potwierdził logowania. Spróbuj ponownie później.
refusal-service-not-linked =
    Twoje konto w innym serwisie nie jest połączone z żadnym użytkownikiem tego serwisu. Zaloguj się
    hasłem i połącz inny serwis na stronie swojego konta.
refusal-service-taken =
    Twoje konto w innym serwisie jest już połączone z innym użytkownikiem tego serwisu.
refusal-account-disabled = Twoje konto jest zablokowane.

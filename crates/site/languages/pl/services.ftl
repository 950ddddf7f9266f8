# Sign-in at another service.
services = Logowanie przez inne serwisy
service-sign-in = Zaloguj się przez { $name }
service-link = Połącz z { $name }
service-link-hint = Zaloguj się w { $name }. Potem możesz logować się tutaj także przez { $name }.
service-continue = Przejdź do { $name }
service-back = Wróć do swojego konta
service-linked = Połączone z { $name } od
service-unlink = Usuń połączenia
service-unlink-hint = Bez połączenia potrzebujesz hasła. Administrator może utworzyć link, który pozwoli Ci je ustawić.
refusal-service-flow = To logowanie się zakończyło albo rozpoczęto je w innej przeglądarce. Zaloguj się ponownie.
refusal-service-refused = Inny serwis odrzucił logowanie.
refusal-service-failed = Inny serwis nie potwierdził logowania. Spróbuj ponownie później.
refusal-service-not-linked = Żaden użytkownik tej witryny nie jest z Tobą połączony. Zaloguj się hasłem i połącz inny serwis na stronie swojego konta.
refusal-service-taken = Inny użytkownik tej witryny jest już z Tobą połączony.
refusal-account-disabled = Twoje konto jest wyłączone.

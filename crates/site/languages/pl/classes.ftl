# Classes: the pupils of a teacher, their passwords, problems and grades.
classes = Klasy
class = Klasa
classes-hint =
    Klasa to grupa uczniów. Dodajesz ich z listy, drukujesz ich hasła i dodajesz całą klasę do
    konkursów.
classes-empty = Nie masz jeszcze klas.
classes-add = Dodaj klasę
class-pupils = Uczniowie
class-teacher = Nauczyciel
class-empty = W klasie nie ma jeszcze uczniów. Zaimportuj listę.
class-choose = Wybór
class-disabled = wyłączone
class-passwords = Nowe hasła dla wybranych uczniów
class-passwords-all = Nowe hasła dla wszystkich
class-remove = Usuń wybranych uczniów z klasy
class-passwords-hint =
    Nowe hasła są pokazywane raz, na paskach do wydrukowania i pocięcia. Kończą sesje tych uczniów.
    Uczeń usunięty z klasy zachowuje konto.
class-add = Dodaj ucznia
class-add-hint =
    Możesz dodać uczniów, których konta założono z Twojej listy, i uczniów z innych Twoich klas.
    Innych użytkowników może dodać administrator.
class-problems-hint =
    Uczniowie klasy widzą te zadania poza konkursami i mogą wysyłać do nich rozwiązania. Możesz
    pokazać własne zadania oraz te, których mogą używać wszyscy nauczyciele.
class-problem = Numer zadania
class-show = Pokaż klasie
class-hide = Ukryj
class-hide-named = Ukryj { $name }
class-delete = Usuń klasę
class-delete-hint = Uczniowie zachowują konta i wyniki w konkursach.
class-import = Importuj uczniów
class-import-hint =
    Nowi uczniowie stają się użytkownikami serwisu i członkami klasy. Uczniowie dodani wcześniej mogą
    ponownie wystąpić na liście. Po podglądzie możesz wydrukować hasła.
class-slips = Nowe hasła
class-go-to = Przejdź do klasy
class-grades = Oceny
class-grades-show = Pokaż oceny
class-grades-csv = Oceny jako CSV
class-grades-hint =
    Wybierz do { $max } konkursów, którymi zarządzasz i w których klasa bierze udział. Zestawienie
    zawiera pełne wyniki, także te, które zamrożenie jeszcze ukrywa przed uczestnikami.
class-no-contests = Klasa nie bierze udziału w żadnym konkursie, którym zarządzasz.
class-points = punkty
class-solved = rozwiązane zadania
class-sum-points = Suma punktów
class-sum-solved = Rozwiązane zadania
members-class = Dodaj klasę
members-class-add = Dodaj wszystkich uczniów
members-class-hint =
    Wszyscy uczniowie klasy stają się uczestnikami, a nazwa klasy ich grupą. Jeśli do klasy dojdą
    uczniowie, dodaj ją ponownie.
roster-class-role = Lista uczniów nie może nadać roli nauczyciela ani administratora.
roster-no-pupil =
    Login { $login } należy do użytkownika, który nie jest Twoim uczniem. Wybierz inny login albo
    poproś administratora o dodanie tego użytkownika do klasy.
refusal-no-pupil =
    { $login } nie jest Twoim uczniem albo ma więcej uprawnień niż uczestnik. Poproś administratora.
refusal-no-teacher = { $login } nie jest nauczycielem.
refusal-too-many-classes = Masz { $max } klas. Najpierw usuń jedną z nich.
refusal-class-full = Klasa może mieć najwyżej { $max } uczniów.
refusal-too-many-pupils =
    Nauczyciel może dodać do serwisu najwyżej { $max } użytkowników. Poproś administratora o dodanie
    kolejnych.
refusal-foreign-problem = Tylko właściciel tego zadania może je pokazać klasie.
mistake-unknown-problem = Nie ma takiego zadania albo nie masz do niego dostępu.
mistake-unknown-class = Nie ma takiej klasy.
mistake-no-pupil-chosen = Wybierz przynajmniej jednego ucznia.

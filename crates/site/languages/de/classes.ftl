# Classes: the pupils of a teacher, their passwords, problems and grades.
classes = Klassen
class = Klasse
classes-hint =
    Eine Klasse ist eine Gruppe von Schülern. Sie fügen sie mit einer Liste hinzu, drucken ihre
    Passwörter und nehmen die ganze Klasse in Wettbewerbe auf.
classes-empty = Sie haben noch keine Klassen.
classes-add = Klasse hinzufügen
class-pupils = Schüler
class-teacher = Lehrkraft
class-empty = Die Klasse hat noch keine Schüler. Importieren Sie eine Liste.
class-choose = Auswahl
class-disabled = gesperrt
class-passwords = Neue Passwörter für die ausgewählten Schüler
class-passwords-all = Neue Passwörter für alle
class-remove = Ausgewählte Schüler aus der Klasse entfernen
class-passwords-hint =
    Neue Passwörter werden einmal angezeigt, auf Zetteln zum Drucken und Ausschneiden. Sie beenden
    die Sitzungen dieser Schüler. Wer die Klasse verlässt, behält das Konto.
class-add = Schüler hinzufügen
class-add-hint =
    Sie können Schüler hinzufügen, deren Konten Sie angelegt haben oder die in Ihren anderen Klassen
    sind. Andere Benutzer kann ein Administrator hinzufügen.
class-problems-hint =
    Die Schüler der Klasse sehen diese Aufgaben außerhalb von Wettbewerben und können Lösungen
    einsenden. Sie können eigene Aufgaben zeigen und solche, die alle Lehrkräfte verwenden dürfen.
class-problem = Nummer der Aufgabe
class-show = Der Klasse zeigen
class-hide = Verbergen
class-hide-named = { $name } verbergen
class-delete = Klasse löschen
class-delete-hint = Die Schüler behalten ihre Konten und ihre Ergebnisse in Wettbewerben.
class-import = Schüler importieren
class-import-hint =
    Neue Schüler werden Benutzer der Site und Mitglieder der Klasse. Schüler, die Sie früher
    hinzugefügt haben, können wieder in der Liste stehen. Passwörter drucken Sie nach der Vorschau.
class-slips = Neue Passwörter
class-go-to = Zur Klasse
class-grades = Noten
class-grades-show = Noten anzeigen
class-grades-csv = Noten als CSV
class-grades-hint =
    Wählen Sie bis zu { $max } Wettbewerbe, die Sie verwalten und an denen die Klasse teilnimmt. Die
    Übersicht enthält volle Ergebnisse, auch solche, die den Teilnehmern noch verborgen sind.
class-no-contests = Die Klasse nimmt an keinem Wettbewerb teil, den Sie verwalten.
class-points = Punkte
class-solved = gelöste Aufgaben
class-sum-points = Summe der Punkte
class-sum-solved = Gelöste Aufgaben
members-class = Klasse hinzufügen
members-class-add = Alle Schüler hinzufügen
members-class-hint =
    Alle Schüler der Klasse werden Teilnehmer, und der Name der Klasse wird ihre Gruppe. Fügen Sie
    die Klasse noch einmal hinzu, wenn Schüler dazugekommen sind.
roster-class-role = Eine Liste von Schülern kann nicht die Rolle Lehrkraft oder Administrator vergeben.
roster-no-pupil =
    Das Login { $login } gehört einem Benutzer, der nicht zu Ihren Schülern gehört. Wählen Sie ein
    anderes Login, oder bitten Sie einen Administrator, den Benutzer in die Klasse aufzunehmen.
refusal-no-pupil =
    { $login } gehört nicht zu Ihren Schülern oder hat mehr Rechte als ein Teilnehmer. Bitten Sie
    einen Administrator.
refusal-no-teacher = { $login } ist keine Lehrkraft.
refusal-too-many-classes = Sie haben { $max } Klassen. Löschen Sie zuerst eine davon.
refusal-class-full = Eine Klasse kann höchstens { $max } Schüler haben.
refusal-too-many-pupils =
    Eine Lehrkraft kann der Site höchstens { $max } Benutzer hinzufügen. Bitten Sie einen
    Administrator, weitere hinzuzufügen.
refusal-foreign-problem = Nur der Besitzer dieser Aufgabe kann sie einer Klasse zeigen.
mistake-unknown-problem = Diese Aufgabe gibt es nicht, oder Sie haben keinen Zugriff auf sie.
mistake-unknown-class = Diese Klasse gibt es nicht.
mistake-no-pupil-chosen = Wählen Sie mindestens einen Schüler.

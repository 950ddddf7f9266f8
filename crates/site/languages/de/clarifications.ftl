# Questions, answers and announcements.
clarifications = Rückfragen
clarifications-unread =
    { $count ->
        [one] { $count } neue Antwort oder Ankündigung
       *[other] { $count } neue Antworten oder Ankündigungen
    }
clarifications-waiting =
    { $count ->
        [one] { $count } Frage wartet auf eine Antwort
       *[other] { $count } Fragen warten auf Antworten
    }
clarifications-read = Als gelesen markieren
clarifications-empty = Es gibt keine Rückfragen.
clarifications-earlier = Frühere Rückfragen
clarifications-list = Alle Rückfragen des Wettbewerbs
clarifications-show = Anzeigen
clarifications-all = Alle
clarifications-unanswered = Unbeantwortete
clarifications-own = Ihre Fragen
filter = Filtern
clarification-of-contest = Der Wettbewerb
clarification-waits = Wartet auf eine Antwort
clarification-new = Neu
clarification-asked-by = Gefragt von { $name }, { $time }
clarification-answer = Antwort
clarification-answer-number = Frage { $number } beantworten
clarification-change = Antwort { $number } ändern
clarification-about = Betrifft
clarification-text = Text
announcement = Ankündigung
announcements = Ankündigungen
announcement-new = Etwas ankündigen
announcement-button = Ankündigen
question = Frage
question-new = Die Leitung fragen
question-button = Fragen
question-hint = Die Leitung antwortet entweder nur Ihnen oder allen Teilnehmern.
audience-withdrawn = zurückgezogen
audience-author = an die fragende Person
audience-all = an alle
audience-quoted = an alle, mit der Frage
audience-choice-withdraw = Die Leitung: die Ankündigung zurückziehen
audience-choice-author = Die fragende Person und ihr Team
audience-choice-people = Alle mit Zugang zum Wettbewerb
audience-choice-all = Alle mit Zugang zum Wettbewerb: nur die Antwort
audience-choice-quoted = Alle mit Zugang zum Wettbewerb: Frage und Antwort
canned-answer = Vorbereitete Antwort
canned-answers = Vorbereitete Antworten
canned-none = Keine: der Text unten
canned-lines = Eine Antwort pro Zeile
mistake-text-length = Der Text muss 1 bis { $max } Zeichen haben.
mistake-canned-answers =
    Ein Wettbewerb darf höchstens { $max } vorbereitete Antworten mit höchstens { $length } Zeichen
    haben.
refusal-answered-meanwhile = Inzwischen hat ein anderes Mitglied der Leitung geantwortet.

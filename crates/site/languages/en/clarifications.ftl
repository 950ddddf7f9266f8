# Questions, answers and announcements.
clarifications = Clarifications
clarifications-unread =
    { $count ->
        [one] { $count } new answer or announcement
       *[other] { $count } new answers or announcements
    }
clarifications-waiting =
    { $count ->
        [one] { $count } question waits for an answer
       *[other] { $count } questions wait for answers
    }
clarifications-read = Mark these as read
clarifications-empty = There are no clarifications.
clarifications-earlier = Earlier clarifications
clarifications-list = All clarifications of the contest
clarifications-show = Show
clarifications-all = All
clarifications-unanswered = Unanswered
clarifications-own = Your questions
filter = Filter
clarification-of-contest = The contest
clarification-waits = Waiting for an answer
clarification-new = New
clarification-asked-by = Asked by { $name }, { $time }
clarification-answer = Answer
clarification-answer-number = Answer question { $number }
clarification-change = Change answer { $number }
clarification-about = About
clarification-text = Text
announcement = Announcement
announcements = Announcements
announcement-new = Make an announcement
announcement-button = Announce
question = Question
question-new = Ask the staff
question-button = Ask
question-hint = The staff replies either only to you or to all participants.
audience-withdrawn = withdrawn
audience-author = to the author
audience-all = to all
audience-quoted = to all, with the question
audience-choice-withdraw = The staff: withdraw the announcement
audience-choice-author = The author and the author's team
audience-choice-people = Everyone with access to the contest
audience-choice-all = Everyone with access to the contest: only the answer
audience-choice-quoted = Everyone with access to the contest: question and answer
canned-answer = Canned answer
canned-answers = Canned answers
canned-none = None: the text below
canned-lines = One answer per line
mistake-text-length = The text must have 1 to { $max } characters.
mistake-canned-answers =
    A contest can have at most { $max } canned answers of at most { $length } characters.
refusal-answered-meanwhile = Another member of the staff has already answered.

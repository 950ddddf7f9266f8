# Classes: the pupils of a teacher, their passwords, problems and grades.
classes = Classes
class = Class
classes-hint =
    A class is a group of pupils. You add them with a list, print their passwords, and add the whole
    class to contests.
classes-empty = You have no classes yet.
classes-add = Add a class
class-pupils = Pupils
class-teacher = Teacher
class-empty = The class has no pupils yet. Import a list.
class-choose = Choose
class-disabled = disabled
class-passwords = New passwords for the chosen pupils
class-passwords-all = New passwords for all
class-remove = Remove the chosen pupils from the class
class-passwords-hint =
    New passwords are shown once, on slips to print and to cut. They end the sessions of these
    pupils. A pupil who leaves the class keeps the account.
class-add = Add a pupil
class-add-hint =
    You can add pupils that you have added to the site, or that are in your other classes. An
    administrator can add other users.
class-problems-hint =
    The pupils of the class see these problems outside contests and can submit to them. You can show
    your own problems, and those that all teachers may use.
class-problem = Number of the problem
class-show = Show to the class
class-hide = Hide
class-hide-named = Hide { $name }
class-delete = Delete the class
class-delete-hint = The pupils keep their accounts, and their results in contests.
class-import = Import pupils
class-import-hint =
    New pupils become users of the site and members of the class. Pupils that you have added before
    can be in the list again. You can print passwords after the preview.
class-slips = New passwords
class-go-to = Go to the class
class-grades = Grades
class-grades-show = Show the grades
class-grades-csv = Grades as CSV
class-grades-hint =
    Choose up to { $max } contests that you manage and in which the class takes part. The sheet
    contains full results, and results that a freeze still hides from contestants.
class-no-contests = The class takes part in no contest that you manage.
class-points = points
class-solved = solved problems
class-sum-points = Sum of points
class-sum-solved = Solved problems
members-class = Add a class
members-class-add = Add all pupils
members-class-hint =
    All pupils of the class become contestants, and the name of the class becomes their group. Add
    the class again after pupils have joined it.
roster-class-role = A list of pupils cannot give the role of a teacher or an administrator.
roster-no-pupil =
    The login { $login } belongs to a user who is not one of your pupils. Choose a different login, or
    ask an administrator to add this user to the class.
refusal-no-pupil =
    { $login } is not one of your pupils, or has more rights than a contestant. Ask an administrator.
refusal-no-teacher = { $login } is no teacher.
refusal-too-many-classes = You have { $max } classes. Delete one first.
refusal-class-full = A class can have at most { $max } pupils.
refusal-too-many-pupils =
    A teacher can add at most { $max } users to the site. Ask an administrator to add more.
refusal-foreign-problem = Only the owner of this problem can show it to a class.
mistake-unknown-problem = There is no such problem, or you have no access to it.
mistake-unknown-class = There is no such class.
mistake-no-pupil-chosen = Choose at least one pupil.

# Problems and packages.
package-file = Package (zip archive, ICPC or Sim format)

problems = Problems
problems-add = Add a problem
problems-add-button = Add the problem
problems-empty = There are no problems that you can see.
problems-number = Number
problems-further = Further problems
problems-tag = Tag
problems-not-found = No problem that you can see has this name and tag.
problems-all = All problems
problem-visible-owner = Owner
problem-visible-teachers = Teachers
problem-private = Private: only you
problem-contest-only = For contests: teachers may use it
problem-public = Public: everyone
problem-try = Try a program
problem-download = Download the package
problem-judge-again = Judge submissions again
problem-tags = Tags: { $tags }
problem-versions = Versions, limits and submissions of the package
problem-delete = Delete the problem
problem-merge = Merge into another problem
problem-merge-hint = Rounds, versions, submissions and tags move to the other problem.
problem-merge-number = Number of the other problem
problem-merge-rejudge =
    Use its package in your rounds that do not run, and judge their submissions again
problem-merge-kept =
    { $count ->
        [one] One round with this problem keeps its version, because it runs or its contest is not yours.
       *[other] { $count } rounds with this problem keep their versions, because they run or their contests are not yours.
    }
problem-merge-button = Merge
problem-warnings = Warnings about the package
problem-short-name = Short name
problem-tags-field = Tags (separated by commas)
problem-tags-hidden = Tags that only teachers see

# Versions of problems.
versions-title = { $name }: versions
versions-go-to-problem = Go to the problem
versions-hint =
    A new version does not change any contest: each round keeps the version that it uses.
versions-solutions = Submissions of the package
versions-add = Add a version
versions-what = What changed
versions-statement = Change the statement, the hints or the solution
versions-statement-file =
    A statement, such as problem.en.md, problem.en.pdf or problem.en.tex, or a text that opens after
    the contest, such as hints.en.md or solution.en.md
versions-statement-button = Add a version with this text
versions-latex = LaTeX statements without a PDF
versions-latex-hint = Until there is a PDF, pages offer the source without its comments.
versions-latex-button = Compile the statements again
versions-limits = Time limits
versions-limits-button = Measure the model solution and add a version with the resulting limits
versions-jobs = Jobs
versions-package = Package
versions-expectation = Expectation
versions-unexpected = not as expected
versions-expected = as expected
versions-no-solutions = The package has no submissions.

# Copying and deleting.
removal-warning = All submissions to it and their results are also deleted. This cannot be undone.
packages-hint = You can choose up to { $max } packages at the same time, with { $mib } MiB together.
package-hint =
    A package of the ICPC format or of Sim, a sinolpack of oioioi, a full package of Polygon, a task of
    CMS (Italian YAML) or an export of Hydro, as a .zip archive. The page of its versions lists what
    was not taken over.

# Hints and solutions.
editorial = Hints and solution
editorial-hints = Hints
editorial-solution = Solution
editorial-opens =
    Only the staff and the owner of the problem see this before { $time }, when all rounds with this
    problem that count for it are over.
editorial-without-end =
    Only the staff and the owner of the problem see this, because a round with this problem has no end.
editorial-markdown = Text ({ $language })
editorial-pdf = As PDF ({ $language })
editorial-latex = As LaTeX source ({ $language })

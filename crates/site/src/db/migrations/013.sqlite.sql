-- A new submission is shown with its first judgement.
CREATE TRIGGER judgement_added AFTER INSERT ON judgement WHEN NEW.current = 1
BEGIN
    INSERT INTO submission_part (contest_id, part, stamp)
    SELECT contest_id, submission.id >> 7, 1 FROM submission
        JOIN round_problem ON round_problem.id = round_problem_id
        JOIN round ON round.id = round_id
    WHERE submission.id = NEW.submission_id
    ON CONFLICT (contest_id, part) DO UPDATE SET stamp = submission_part.stamp + 1;
END;

CREATE TRIGGER judgement_changed
AFTER UPDATE OF current, state, initial_verdict, verdict, score, max_score ON judgement
WHEN OLD.current = 1 OR NEW.current = 1
BEGIN
    INSERT INTO submission_part (contest_id, part, stamp)
    SELECT contest_id, submission.id >> 7, 1 FROM submission
        JOIN round_problem ON round_problem.id = round_problem_id
        JOIN round ON round.id = round_id
    WHERE submission.id = NEW.submission_id
    ON CONFLICT (contest_id, part) DO UPDATE SET stamp = submission_part.stamp + 1;
END;

CREATE TRIGGER submission_changed
AFTER UPDATE OF user_id, problem_id, participant_id, language, kind, submitted_at ON submission
BEGIN
    INSERT INTO submission_part (contest_id, part, stamp)
    SELECT contest_id, OLD.id >> 7, 1 FROM round_problem JOIN round ON round.id = round_id
    WHERE round_problem.id = OLD.round_problem_id
    ON CONFLICT (contest_id, part) DO UPDATE SET stamp = submission_part.stamp + 1;
END;

CREATE TRIGGER submission_deleted AFTER DELETE ON submission
BEGIN
    INSERT INTO submission_part (contest_id, part, stamp)
    SELECT contest_id, OLD.id >> 7, 1 FROM round_problem JOIN round ON round.id = round_id
    WHERE round_problem.id = OLD.round_problem_id
    ON CONFLICT (contest_id, part) DO UPDATE SET stamp = submission_part.stamp + 1;
END;

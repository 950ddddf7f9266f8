CREATE FUNCTION stamp_judgement() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO submission_part (contest_id, part, stamp)
    SELECT round.contest_id, submission.id >> 7, 1 FROM submission
        JOIN round_problem ON round_problem.id = submission.round_problem_id
        JOIN round ON round.id = round_problem.round_id
    WHERE submission.id = NEW.submission_id
    ON CONFLICT (contest_id, part) DO UPDATE SET stamp = submission_part.stamp + 1;
    RETURN NULL;
END;
$$;

CREATE FUNCTION stamp_submission() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO submission_part (contest_id, part, stamp)
    SELECT round.contest_id, OLD.id >> 7, 1 FROM round_problem
        JOIN round ON round.id = round_problem.round_id
    WHERE round_problem.id = OLD.round_problem_id
    ON CONFLICT (contest_id, part) DO UPDATE SET stamp = submission_part.stamp + 1;
    RETURN NULL;
END;
$$;

-- A new submission is shown with its first judgement.
CREATE TRIGGER judgement_added AFTER INSERT ON judgement
FOR EACH ROW WHEN (NEW.current = 1) EXECUTE FUNCTION stamp_judgement();

CREATE TRIGGER judgement_changed
AFTER UPDATE OF current, state, initial_verdict, verdict, score, max_score ON judgement
FOR EACH ROW WHEN (OLD.current = 1 OR NEW.current = 1) EXECUTE FUNCTION stamp_judgement();

CREATE TRIGGER submission_changed
AFTER UPDATE OF user_id, problem_id, participant_id, language, kind, submitted_at ON submission
FOR EACH ROW EXECUTE FUNCTION stamp_submission();

CREATE TRIGGER submission_deleted AFTER DELETE ON submission
FOR EACH ROW EXECUTE FUNCTION stamp_submission();

-- A part has 128 numbers of submissions to a contest. Its stamp rises with each change of what
-- lists and rankings show of these submissions. Triggers do this, so that no statement can forget
-- it. Logins never change.
CREATE TABLE submission_part (
    contest_id BIGINT NOT NULL REFERENCES contest (id) ON DELETE CASCADE,
    part BIGINT NOT NULL,
    stamp BIGINT NOT NULL,
    PRIMARY KEY (contest_id, part)
);
INSERT INTO submission_part (contest_id, part, stamp)
SELECT DISTINCT contest_id, submission.id >> 7, 1 FROM submission
    JOIN round_problem ON round_problem.id = round_problem_id
    JOIN round ON round.id = round_id;

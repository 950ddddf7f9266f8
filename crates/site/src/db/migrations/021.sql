-- The latest comparison of a contest's sources.
CREATE TABLE similar_report (
    contest_id BIGINT PRIMARY KEY REFERENCES contest (id) ON DELETE CASCADE,
    made_at BIGINT NOT NULL,
    -- The highest number of a submission at that time.
    last_submission BIGINT NOT NULL,
    problems BIGINT NOT NULL,
    sources BIGINT NOT NULL
);

CREATE TABLE similar_pair (
    first_id BIGINT NOT NULL REFERENCES submission (id) ON DELETE CASCADE,
    second_id BIGINT NOT NULL REFERENCES submission (id) ON DELETE CASCADE,
    contest_id BIGINT NOT NULL REFERENCES contest (id) ON DELETE CASCADE,
    percent BIGINT NOT NULL,
    PRIMARY KEY (first_id, second_id)
);
CREATE INDEX similar_pair_second ON similar_pair (second_id);
CREATE INDEX similar_pair_contest ON similar_pair (contest_id, percent);

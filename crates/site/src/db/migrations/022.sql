-- The points of a problem in a round, to which the points of its package are scaled; NULL keeps the
-- points of the package.
ALTER TABLE round_problem ADD COLUMN max_points BIGINT;

-- When a user started the latest virtual participation in a round.
CREATE TABLE virtual_start (
    user_id BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    round_id BIGINT NOT NULL REFERENCES round (id) ON DELETE CASCADE,
    started_at BIGINT NOT NULL,
    PRIMARY KEY (user_id, round_id)
);
CREATE INDEX virtual_start_round ON virtual_start (round_id);

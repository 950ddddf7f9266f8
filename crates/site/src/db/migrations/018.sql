-- What contestants may submit. Empty or NULL: a problem has the rule of its round, and a round has
-- no rule. The names of languages are separated by spaces.
ALTER TABLE round ADD COLUMN languages TEXT NOT NULL DEFAULT '';
ALTER TABLE round ADD COLUMN max_submissions BIGINT;
ALTER TABLE round ADD COLUMN interval_seconds BIGINT;
ALTER TABLE round ADD COLUMN max_source_bytes BIGINT;
ALTER TABLE round_problem ADD COLUMN languages TEXT NOT NULL DEFAULT '';
ALTER TABLE round_problem ADD COLUMN max_submissions BIGINT;
ALTER TABLE round_problem ADD COLUMN interval_seconds BIGINT;
ALTER TABLE round_problem ADD COLUMN max_source_bytes BIGINT;

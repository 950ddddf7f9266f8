-- Whether a worker on another machine accepts submissions to contests, so that other judgements can
-- make way for them there.
ALTER TABLE fleet_worker ADD COLUMN takes_contests BIGINT NOT NULL DEFAULT 1;

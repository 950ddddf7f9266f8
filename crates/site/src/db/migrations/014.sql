-- The stamp of a part is the sum of the stamps of its slots.
ALTER TABLE submission_part ADD COLUMN slot BIGINT NOT NULL DEFAULT 0;

-- A virtual participation that its user has ended before its time.

ALTER TABLE virtual_start ADD COLUMN ended_at BIGINT;

-- A worker that fails where others succeed is on probation: it judges nothing until it has judged a
-- known submission. A check has an attempt and a lease, as a judgement has.
ALTER TABLE fleet_worker ADD COLUMN probation_at BIGINT;
ALTER TABLE fleet_worker ADD COLUMN probation_reason TEXT;
ALTER TABLE fleet_worker ADD COLUMN trusted_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE fleet_worker ADD COLUMN failed_checks BIGINT NOT NULL DEFAULT 0;
ALTER TABLE fleet_worker ADD COLUMN check_at BIGINT;
ALTER TABLE fleet_worker ADD COLUMN check_attempt BIGINT NOT NULL DEFAULT 0;
ALTER TABLE fleet_worker ADD COLUMN check_until BIGINT;
-- The worker of a failed attempt, and whether the worker itself had ended.
ALTER TABLE attempt_failure ADD COLUMN fleet_worker_id BIGINT REFERENCES fleet_worker (id);
ALTER TABLE attempt_failure ADD COLUMN has_ended BIGINT NOT NULL DEFAULT 0;
CREATE INDEX attempt_failure_fleet_worker ON attempt_failure (fleet_worker_id, failed_at);

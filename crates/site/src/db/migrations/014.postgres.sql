-- A transaction keeps the slot that it has changed until its end. A transaction never waits for a
-- slot: it takes one that is free, or adds one. Otherwise, two transactions that change submissions
-- of the same parts in opposite order would wait for each other. A part has at most as many slots
-- as transactions have changed it at the same time.
ALTER TABLE submission_part DROP CONSTRAINT submission_part_pkey;
ALTER TABLE submission_part ADD PRIMARY KEY (contest_id, part, slot);
CREATE SEQUENCE submission_part_slot;

-- A reference would make a new slot wait for a transaction that deletes the contest.
ALTER TABLE submission_part DROP CONSTRAINT submission_part_contest_id_fkey;

CREATE FUNCTION delete_parts() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM submission_part WHERE contest_id = OLD.id;
    RETURN NULL;
END;
$$;

CREATE TRIGGER contest_deleted AFTER DELETE ON contest
FOR EACH ROW EXECUTE FUNCTION delete_parts();

CREATE FUNCTION stamp_part(of_contest BIGINT, of_part BIGINT) RETURNS VOID LANGUAGE plpgsql AS $$
DECLARE
    free BIGINT;
BEGIN
    SELECT slot INTO free FROM submission_part
    WHERE contest_id = of_contest AND part = of_part
    ORDER BY slot LIMIT 1 FOR UPDATE SKIP LOCKED;
    IF FOUND THEN
        UPDATE submission_part SET stamp = stamp + 1
        WHERE contest_id = of_contest AND part = of_part AND slot = free;
    ELSE
        INSERT INTO submission_part (contest_id, part, slot, stamp)
        VALUES (of_contest, of_part, nextval('submission_part_slot'), 1);
    END IF;
END;
$$;

CREATE OR REPLACE FUNCTION stamp_judgement() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    PERFORM stamp_part(round.contest_id, submission.id >> 7) FROM submission
        JOIN round_problem ON round_problem.id = submission.round_problem_id
        JOIN round ON round.id = round_problem.round_id
    WHERE submission.id = NEW.submission_id;
    RETURN NULL;
END;
$$;

CREATE OR REPLACE FUNCTION stamp_submission() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    PERFORM stamp_part(round.contest_id, OLD.id >> 7) FROM round_problem
        JOIN round ON round.id = round_problem.round_id
    WHERE round_problem.id = OLD.round_problem_id;
    RETURN NULL;
END;
$$;

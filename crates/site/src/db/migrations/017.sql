-- The login of the member of the staff that has handed in a file for a participant, and the reason;
-- NULL if the author has submitted it. The time of such a submission is the one that the staff gave.
ALTER TABLE submission ADD COLUMN handed_in_by TEXT;
ALTER TABLE submission ADD COLUMN handed_in_for TEXT;
-- What the staff has stated about a change, such as its reason.
ALTER TABLE audit ADD COLUMN detail TEXT NOT NULL DEFAULT '';

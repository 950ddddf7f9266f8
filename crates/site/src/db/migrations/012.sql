-- The number of a team in the files of an import, by which a later import finds the team.
ALTER TABLE participant ADD COLUMN external_id TEXT;
CREATE UNIQUE INDEX participant_external ON participant (contest_id, external_id);

-- Why the staff has disqualified a participant; NULL if the participant may take part.
ALTER TABLE participant ADD COLUMN disqualified TEXT;

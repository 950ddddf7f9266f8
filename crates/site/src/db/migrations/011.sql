-- The tag of the language that a user has chosen, such as de.
ALTER TABLE users ADD COLUMN locale TEXT;

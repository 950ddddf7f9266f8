-- The name of the time zone, such as Europe/Berlin, in which the pages of a contest show times; NULL
-- for that of the site.
ALTER TABLE contest ADD COLUMN time_zone TEXT;
-- The zone that a user has chosen; NULL for that of the contest or the site.
ALTER TABLE users ADD COLUMN time_zone TEXT;

-- The points of the groups of tests as JSON, such as {"1": 20000000}, if their sum is the score.
-- Judgements of earlier versions of the site have none.
ALTER TABLE judgement ADD COLUMN group_scores TEXT;

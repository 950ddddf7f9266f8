-- What a worker says about itself and its machine, as JSON; NULL until it has connected.
ALTER TABLE fleet_worker ADD COLUMN introduction TEXT;

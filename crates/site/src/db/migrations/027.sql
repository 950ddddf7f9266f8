-- Gives the queue in its order without sorting, and finds what is open in a rejudging.
DROP INDEX judgement_queue;
CREATE INDEX judgement_queue ON judgement (state, priority DESC, turn, id);
DROP INDEX judgement_rejudging;
CREATE INDEX judgement_rejudging ON judgement (rejudging_id, state);

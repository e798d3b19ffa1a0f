-- The client's message that a dispatch has accepted, of which a thread has one dispatch, and the digests of the message.

ALTER TABLE {p}_dispatches ADD COLUMN message TEXT NOT NULL DEFAULT '';
ALTER TABLE {p}_dispatches ADD COLUMN said TEXT NOT NULL DEFAULT '';
-- The thread does not lead, so that it is not taken for the look-ups of a thread's dispatches.
CREATE UNIQUE INDEX {p}_dispatches_message ON {p}_dispatches (message, thread, tenant) WHERE message <> '';

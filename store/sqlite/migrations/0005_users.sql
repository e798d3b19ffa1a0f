-- The user that a thread belongs to; '' if it belongs to none, as those of before.

ALTER TABLE {p}_threads ADD COLUMN user_id TEXT NOT NULL DEFAULT '';
CREATE INDEX {p}_threads_user ON {p}_threads (tenant, user_id, touched DESC) WHERE user_id <> '';

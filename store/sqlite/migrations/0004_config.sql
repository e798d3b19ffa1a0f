-- The configuration of the whole server: it belongs to no tenant.

CREATE TABLE {p}_config_head (
	one      INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
	revision INTEGER NOT NULL DEFAULT 0,
	last     INTEGER NOT NULL DEFAULT 0,
	live     INTEGER NOT NULL DEFAULT 0,
	canary   TEXT -- JSON, or NULL
);
INSERT INTO {p}_config_head (one) VALUES (1);

CREATE TABLE {p}_config_records (
	namespace TEXT    NOT NULL,
	id        TEXT    NOT NULL,
	revision  INTEGER NOT NULL,
	spec      TEXT    NOT NULL, -- JSON
	overrides TEXT    NOT NULL, -- JSON, or ''
	meta      TEXT    NOT NULL, -- JSON, without the overrides
	PRIMARY KEY (namespace, id)
);

CREATE TABLE {p}_config_secrets (
	ref  TEXT NOT NULL,
	data TEXT NOT NULL, -- JSON; the secret in it is encrypted
	PRIMARY KEY (ref)
);

CREATE TABLE {p}_config_publications (
	number   INTEGER NOT NULL PRIMARY KEY,
	base     INTEGER NOT NULL,
	at       INTEGER NOT NULL,
	data     TEXT    NOT NULL, -- JSON, without the manifest
	manifest TEXT,             -- JSON array, or NULL
	runs     INTEGER,          -- the tally; NULL if there is none
	errors   INTEGER,
	cost     INTEGER,          -- billionths of a US dollar
	latency  INTEGER
);

CREATE TABLE {p}_config_documents (
	hash TEXT NOT NULL,
	data TEXT NOT NULL, -- JSON
	PRIMARY KEY (hash)
);

-- Which publications have a document, in their entries or their manifest.
CREATE TABLE {p}_config_uses (
	hash        TEXT    NOT NULL,
	publication INTEGER NOT NULL,
	PRIMARY KEY (hash, publication)
) WITHOUT ROWID;
CREATE INDEX {p}_config_uses_publication ON {p}_config_uses (publication);

CREATE TABLE {p}_config_events (
	seq      INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, -- the order in which they were applied
	id       TEXT    NOT NULL UNIQUE,
	time     INTEGER NOT NULL, -- unix µs
	action   TEXT    NOT NULL,
	resource TEXT    NOT NULL,
	actor    TEXT    NOT NULL,
	data     TEXT    NOT NULL, -- JSON, without before and after
	before   TEXT    NOT NULL, -- JSON, or ''
	after    TEXT    NOT NULL
);
CREATE INDEX {p}_config_events_time ON {p}_config_events (time);
CREATE INDEX {p}_config_events_action ON {p}_config_events (action);
CREATE INDEX {p}_config_events_resource ON {p}_config_events (resource);
CREATE INDEX {p}_config_events_actor ON {p}_config_events (actor);

-- The configuration of the whole server: it belongs to no tenant.

CREATE TABLE {p}_config_head (
	one      integer NOT NULL PRIMARY KEY CHECK (one = 1),
	revision bigint NOT NULL DEFAULT 0,
	last     bigint NOT NULL DEFAULT 0,
	live     bigint NOT NULL DEFAULT 0,
	canary   text -- JSON, or NULL
);
INSERT INTO {p}_config_head (one) VALUES (1);

CREATE TABLE {p}_config_records (
	namespace text COLLATE "C" NOT NULL,
	id        text COLLATE "C" NOT NULL,
	revision  bigint NOT NULL,
	spec      text    NOT NULL, -- JSON
	overrides text    NOT NULL, -- JSON, or ''
	meta      text    NOT NULL, -- JSON, without the overrides
	PRIMARY KEY (namespace, id)
);

CREATE TABLE {p}_config_secrets (
	ref  text COLLATE "C" NOT NULL,
	data text NOT NULL, -- JSON; the secret in it is encrypted
	PRIMARY KEY (ref)
);

CREATE TABLE {p}_config_publications (
	number   bigint NOT NULL PRIMARY KEY,
	base     bigint NOT NULL,
	at       bigint NOT NULL,
	data     text    NOT NULL, -- JSON, without the manifest
	manifest text,             -- JSON array, or NULL
	runs     bigint,          -- the tally; NULL if there is none
	errors   bigint,
	cost     bigint,          -- billionths of a US dollar
	latency  bigint
);

CREATE TABLE {p}_config_documents (
	hash text COLLATE "C" NOT NULL,
	data text NOT NULL, -- JSON
	PRIMARY KEY (hash)
);

-- Which publications have a document, in their entries or their manifest.
CREATE TABLE {p}_config_uses (
	hash        text COLLATE "C" NOT NULL,
	publication bigint NOT NULL,
	PRIMARY KEY (hash, publication)
);
CREATE INDEX {p}_config_uses_publication ON {p}_config_uses (publication);

CREATE TABLE {p}_config_events (
	seq      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- the order in which they were applied
	id       text COLLATE "C" NOT NULL UNIQUE,
	time     bigint NOT NULL, -- unix µs
	action   text COLLATE "C" NOT NULL,
	resource text COLLATE "C" NOT NULL,
	actor    text COLLATE "C" NOT NULL,
	data     text    NOT NULL, -- JSON, without before and after
	before   text    NOT NULL, -- JSON, or ''
	after    text    NOT NULL
);
CREATE INDEX {p}_config_events_time ON {p}_config_events (time);
CREATE INDEX {p}_config_events_action ON {p}_config_events (action, seq);
CREATE INDEX {p}_config_events_resource ON {p}_config_events (resource, seq);
CREATE INDEX {p}_config_events_actor ON {p}_config_events (actor, seq);

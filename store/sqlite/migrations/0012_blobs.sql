-- Files that messages refer to, by the digest of their type and bytes.

CREATE TABLE {p}_blobs (
	tenant     TEXT    NOT NULL,
	id         TEXT    NOT NULL,
	media_type TEXT    NOT NULL,
	size       INTEGER NOT NULL,
	created    INTEGER NOT NULL, -- unix µs
	data       BLOB,             -- if it is small
	body       TEXT    NOT NULL, -- the key of its parts, or ''
	PRIMARY KEY (tenant, id)
);
CREATE INDEX {p}_blobs_created ON {p}_blobs (tenant, created, id, size);

CREATE TABLE {p}_blob_parts (
	body TEXT    NOT NULL,
	n    INTEGER NOT NULL,
	data BLOB    NOT NULL,
	PRIMARY KEY (body, n)
);

-- Uploads that are not finished.
CREATE TABLE {p}_blob_uploads (
	body TEXT    NOT NULL PRIMARY KEY,
	at   INTEGER NOT NULL -- unix µs
);

-- What keeps a blob: a thread, or the user that uploaded it.
CREATE TABLE {p}_blob_holds (
	tenant TEXT    NOT NULL,
	blob   TEXT    NOT NULL,
	kind   TEXT    NOT NULL, -- user or thread
	holder TEXT    NOT NULL,
	at     INTEGER NOT NULL, -- unix µs
	PRIMARY KEY (tenant, blob, kind, holder)
) WITHOUT ROWID;
CREATE INDEX {p}_blob_holds_holder ON {p}_blob_holds (tenant, kind, holder);
CREATE INDEX {p}_blob_holds_at ON {p}_blob_holds (at) WHERE kind = 'user';

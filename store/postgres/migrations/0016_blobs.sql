-- Files that messages refer to, by the digest of their type and bytes.

CREATE TABLE {p}_blobs (
	tenant     text COLLATE "C" NOT NULL,
	id         text COLLATE "C" NOT NULL,
	media_type text   NOT NULL,
	size       bigint NOT NULL,
	created    bigint NOT NULL, -- unix µs
	data       bytea,           -- if it is small
	body       text COLLATE "C" NOT NULL, -- the key of its parts, or ''
	PRIMARY KEY (tenant, id)
);
CREATE INDEX {p}_blobs_created ON {p}_blobs (tenant, created, id) INCLUDE (size);

CREATE TABLE {p}_blob_parts (
	body text COLLATE "C" NOT NULL,
	n    bigint NOT NULL,
	data bytea  NOT NULL,
	PRIMARY KEY (body, n)
);
ALTER TABLE {p}_blob_parts ALTER COLUMN data SET STORAGE EXTERNAL; -- most files are compressed already

-- Uploads that are not finished.
CREATE TABLE {p}_blob_uploads (
	body text COLLATE "C" NOT NULL PRIMARY KEY,
	at   bigint NOT NULL -- unix µs
);

-- What keeps a blob: a thread, or the user that uploaded it.
CREATE TABLE {p}_blob_holds (
	tenant text COLLATE "C" NOT NULL,
	blob   text COLLATE "C" NOT NULL,
	kind   text COLLATE "C" NOT NULL, -- user or thread
	holder text COLLATE "C" NOT NULL,
	at     bigint NOT NULL, -- unix µs
	PRIMARY KEY (tenant, blob, kind, holder)
);
CREATE INDEX {p}_blob_holds_holder ON {p}_blob_holds (tenant, kind, holder);
CREATE INDEX {p}_blob_holds_at ON {p}_blob_holds (at) WHERE kind = 'user';

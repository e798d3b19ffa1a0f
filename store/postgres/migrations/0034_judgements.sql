-- What is said about runs that have ended, a share of them by the policies of their agents.

CREATE TABLE {p}_judgements (
	tenant   text             NOT NULL,
	run      text COLLATE "C" NOT NULL,
	revision bigint           NOT NULL,
	due      bigint,          -- Unix ms; NULL if no process may take it
	born     bigint           NOT NULL, -- when the run was created, Unix ms
	agent    text             NOT NULL,
	version  text             NOT NULL,
	status   text             NOT NULL,
	score    double precision, -- NULL if there is none
	data     text             NOT NULL, -- JSON
	PRIMARY KEY (tenant, run)
);
CREATE INDEX {p}_judgements_due ON {p}_judgements (due) WHERE due IS NOT NULL;
CREATE INDEX {p}_judgements_born ON {p}_judgements (tenant, born DESC, run DESC);
CREATE INDEX {p}_judgements_agent ON {p}_judgements (tenant, agent, born DESC, run DESC);

-- The threads of each tenant that can be claimed, for claims that except some tenants: they go
-- from tenant to tenant and read nothing of those.
CREATE INDEX {p}_queues_tenant ON {p}_queues (suspect, tenant, priority, since) WHERE since IS NOT NULL;

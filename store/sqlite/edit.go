package sqlite

import "github.com/awaken-go/awaken/store/internal/sqlstore"

// edits is how threads are edited where one transaction at a time writes.
var edits = sqlstore.EditEngine{
	Inherit: `UPDATE {p}_commits SET thread = ?3, last = -1, run = '', epoch = 0, entries = NULL, calls = NULL, upto = min(upto, ?4)
		WHERE tenant = ?1 AND thread = ?2 AND messages IS NOT NULL AND before < ?4`,
}

package postgres

import (
	"github.com/awaken-go/awaken/profile"
	"github.com/awaken-go/awaken/store/internal/sqlstore"
)

// Profile is one tenant's profile entries.
type Profile struct{ sqlstore.Profile }

var _ profile.Store = (*Profile)(nil)

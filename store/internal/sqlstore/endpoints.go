package sqlstore

import "github.com/awaken-go/awaken/automate/webhook"

// NewEndpoints returns the webhook endpoints of a database.
func NewEndpoints(db DB) webhook.EndpointStore {
	return &rows[webhook.Endpoint, *webhook.Endpoint]{db: db, table: "endpoints", noun: "endpoint"}
}

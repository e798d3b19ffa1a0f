package config

import (
	"encoding/json"
	"fmt"

	"github.com/awaken-go/awaken"
)

// document is a document of a version, in memory: sealed as it is stored, and decoded
// with its secrets put in when it is compiled. It never changes.
type document struct {
	Entry
	raw   json.RawMessage // sealed and canonical; its hash is the entry's
	needs []Key
	// secrets are the references of the secrets in it.
	secrets []string
	servers map[string]string // where they are sent, by reference
}

func newDocument(key Key, raw json.RawMessage, revision int64) *document {
	return &document{Entry: Entry{Key: key, Hash: Hash(raw), Revision: revision}, raw: raw, needs: Needs(key.Namespace, raw), secrets: SecretsOf(raw), servers: serversOf(key.Namespace, raw)}
}

// problem is a mistake in a document.
func problem(key Key, code, format string, args ...any) awaken.Diagnostic {
	return awaken.Diagnostic{Code: code, Severity: awaken.SeverityError, Namespace: string(key.Namespace), ID: key.ID, Message: fmt.Sprintf(format, args...)}
}

func warning(key Key, code, format string, args ...any) awaken.Diagnostic {
	d := problem(key, code, format, args...)
	d.Severity = awaken.Warning
	return d
}

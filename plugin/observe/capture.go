package observe

import (
	"encoding/json"
	"slices"
)

// hidden is what is recorded instead of a value that must not be.
const hidden = "***"

// truncated marks content that was too long.
const truncated = "__awaken_payload_truncated"

// clipped returns the JSON of arguments or of a result as it may be recorded: only the fields that the section lists, without
// those it redacts, with texts passed through redact, and not longer than its limit. What is longer becomes an object with its beginning.
func clipped(cfg *Config, redact func(field, text string) string, data json.RawMessage) json.RawMessage {
	if len(data) == 0 {
		return nil
	}
	var v any
	if json.Unmarshal(data, &v) != nil {
		return nil // not JSON: what it holds is unknown
	}
	if object, ok := v.(map[string]any); ok && len(cfg.Fields) > 0 {
		for name := range object {
			if !slices.Contains(cfg.Fields, name) {
				delete(object, name)
			}
		}
	} else if len(cfg.Fields) > 0 {
		return nil // it has no fields
	}
	out, err := json.Marshal(masked(v, "", cfg.Redact, redact))
	if err != nil {
		return nil
	}
	if len(out) > cfg.MaxBytes {
		out, _ = json.Marshal(map[string]any{truncated: true, "begin": cut(string(out), cfg.MaxBytes)})
	}
	return out
}

// masked replaces the values of hidden fields, at any depth, and passes texts through redact. It changes v.
func masked(v any, field string, hide []string, redact func(field, text string) string) any {
	if field != "" && slices.Contains(hide, field) {
		return hidden
	}
	switch v := v.(type) {
	case map[string]any:
		for name, e := range v {
			v[name] = masked(e, name, hide, redact)
		}
	case []any:
		for i, e := range v {
			v[i] = masked(e, field, hide, redact)
		}
	case string:
		return redact(field, v)
	}
	return v
}

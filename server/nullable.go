package server

import "encoding/json"

// NullableText is a text in a body that a client can set, or clear with null.
type NullableText struct {
	Set   bool
	Value string
}

// UnmarshalJSON decodes a string or null.
func (f *NullableText) UnmarshalJSON(data []byte) error {
	f.Set, f.Value = true, ""
	return json.Unmarshal(data, &f.Value)
}

package specfile

import (
	"encoding/json"
	"errors"

	"github.com/awaken-go/awaken/internal/document"
)

// Field is a value in a file, with its path.
type Field struct {
	Path  string // such as server.address
	Line  int
	Value json.RawMessage // anything but an object
}

// Fields parses a file into a flat list of values, as for settings. It omits fields whose value
// is null. A file with nothing but comments has no fields.
func Fields(name string, data []byte) ([]Field, error) {
	root, err := document.Parse(name, data)
	switch {
	case errors.Is(err, document.ErrEmpty):
		return nil, nil
	case err == nil && root.IsNull():
		return nil, nil
	case err == nil && root.Kind != document.Object:
		err = document.At(root.Line, "got %s, want an object", root.Kind)
	}
	var out []Field
	if err == nil {
		out, err = fields(root, "", nil)
	}
	if err != nil {
		return nil, document.In(name, err)
	}
	return out, nil
}

func fields(n *document.Node, path string, out []Field) ([]Field, error) {
	for i, k := range n.Keys {
		v, at := n.Items[i], before(path, ".")+k.Name
		var err error
		switch {
		case v.IsNull():
		case v.Kind == document.Object:
			out, err = fields(v, at, out)
		default:
			var raw json.RawMessage
			raw, err = v.JSON()
			out = append(out, Field{at, k.Line, raw})
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

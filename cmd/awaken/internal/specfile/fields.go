package specfile

import (
	"encoding/json"
	"errors"
)

// Field is a value in a file, by the names that lead to it.
type Field struct {
	Path  string // such as server.address
	Line  int
	Value json.RawMessage // anything but an object
}

// Fields reads a file that is not about agents, as the list of its values. Objects are
// taken apart, and fields without a value left out. A file that only has comments has
// none.
func Fields(name string, data []byte) ([]Field, error) {
	root, err := parse(name, data)
	switch {
	case errors.Is(err, errEmpty):
		return nil, nil
	case err == nil && root.isNull():
		return nil, nil
	case err == nil && root.kind != object:
		err = at(root.line, "got %s, want an object", root.kind)
	}
	var out []Field
	if err == nil {
		out, err = root.fields("", nil)
	}
	if e, ok := errors.AsType[*Error](err); ok {
		e.File = name
		return nil, e
	}
	if err != nil {
		return nil, &Error{File: name, Err: err}
	}
	return out, nil
}

func (n *node) fields(path string, out []Field) ([]Field, error) {
	for i, k := range n.keys {
		v, at := n.items[i], join(path, k.name)
		var err error
		switch {
		case v.isNull():
		case v.kind == object:
			out, err = v.fields(at, out)
		default:
			var raw json.RawMessage
			raw, err = v.encode()
			out = append(out, Field{at, k.line, raw})
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

package eval

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/awaken-go/awaken/internal/strict"
)

// Load reads the cases of a file, or of all files of a folder whose names end with .json, in the order of their names. A file holds a
// dataset, a list of fixtures or one fixture. Errors name the file.
func Load(path string) (*Dataset, error) {
	files := []string{path}
	if st, err := os.Stat(path); err != nil {
		return nil, err
	} else if st.IsDir() {
		if files, err = filepath.Glob(filepath.Join(strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path), "*.json")); err != nil {
			return nil, err
		}
		if len(files) == 0 {
			return nil, fmt.Errorf("%s has no file whose name ends with .json", path)
		}
	}
	all := &Dataset{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		d, err := parseFile(data)
		if err == nil {
			err = d.Validate()
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all.Fixtures = append(all.Fixtures, d.Fixtures...)
	}
	if err := all.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return all, nil
}

func parseFile(data []byte) (*Dataset, error) {
	d := &Dataset{}
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
		return d, strict.Unmarshal(data, &d.Fixtures)
	}
	var has map[string]json.RawMessage
	if err := json.Unmarshal(data, &has); err == nil && has["user_input"] != nil {
		d.Fixtures = make([]Fixture, 1)
		return d, strict.Unmarshal(data, &d.Fixtures[0])
	}
	return d, strict.Unmarshal(data, d)
}

package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Marker is what follows the name of a database in the name of its marker, a file that says that
// the database was created. With it, Open does not take a database that was lost for a new one.
const Marker = "-created"

// create creates the file of a new database, empty and readable only by its owner. If the marker
// says that there was a database, a file that is missing or empty is an error.
//
// The marker is written after the database. So it is read before the size of the file: another
// process may be creating both.
func create(path string) error {
	_, err := os.Stat(path + Marker)
	marked := err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	info, err := os.Stat(path)
	state := ""
	switch {
	case errors.Is(err, fs.ErrNotExist):
		state = "missing"
	case err != nil:
		return err
	case info.Size() == 0:
		state = "empty"
	default:
		return nil
	}
	if marked {
		return fmt.Errorf("the file is %s, but %s says that there was a database: restore a backup, or delete %[2]s to start with an empty database", state, path+Marker)
	}
	if link, err := os.Readlink(path); err == nil {
		if !filepath.IsAbs(link) {
			link = filepath.Join(filepath.Dir(path), link)
		}
		path = link
	}
	// A file that exists must not be opened: closing it would drop the locks that this program
	// holds on it.
	return touch(path, nil)
}

// mark writes the marker of a database.
func mark(path string) error {
	if _, err := os.Stat(path + Marker); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return touch(path+Marker, []byte("This file says that the database beside it was created. If the database is missing, restore a\nbackup, or delete this file to start with an empty database.\n"))
}

// touch creates a file with a content unless it exists.
func touch(path string, content []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Close())
}

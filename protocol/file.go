package protocol

import (
	"strings"

	"github.com/awaken-go/awaken/blob"
	"github.com/awaken-go/awaken/llm"
)

// FilePath is the path of stored files, up to their ID.
const FilePath = "/v1/blobs/"

// FileURL returns the URL of a file: its own, that of a stored file relative to the server, or a data:
// URL, for which mediaType is used.
func FileURL(s *llm.Source, mediaType string) string {
	switch s.Type {
	case "url":
		return s.URL
	case "blob":
		return FilePath + s.ID
	}
	return "data:" + mediaType + ";base64," + s.Data
}

// fileOf returns the ID of the stored file that a URL names, if it is one of this server.
func fileOf(address string) (id string, ok bool) {
	id, ok = strings.CutPrefix(address, FilePath)
	return id, ok && blob.IsID(id)
}

// maxShownFiles is how many bytes of files a history has inline.
const maxShownFiles = 16 << 20

// shownCopies is how many bytes a response takes, at most, for each byte of a file that it has inline: base64, and copies of it
// while the response is made.
const shownCopies = 4

// ShowFiles returns the messages of a history with stored files inline, as clients sent them, because a
// page on another origin may not be able to load them from here. Of more than 16 MiB, or more than the
// memory that responses share has room for, the latest are inline, and the others are URLs.
func ShowFiles(c Call, msgs []*llm.Message) ([]*llm.Message, error) {
	a := blob.Attacher{Store: blob.Of(c.Tenant().Store), Most: maxShownFiles, Admit: func(size int64) bool { return c.Reserve(shownCopies * size) }}
	return a.Messages(c.Context(), msgs, func(b llm.Block) llm.Block { return b })
}

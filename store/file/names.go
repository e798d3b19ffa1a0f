package file

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
)

// maxName is the maximum length of an encoded id: with an extension it fits every file
// system.
const maxName = 128

// devices are names that Windows reserves, with any extension.
var devices = []string{"con", "prn", "aux", "nul"}

// fileName returns the file name for an id. Every byte but a-z, 0-9, _ and - is written as
// %xx, so that no two ids share a name, not even on a case-insensitive file system, and no
// name is a path. A name that would be too long is cut and ends in ~ and a hash of the id.
func fileName(id string) string {
	var sb strings.Builder
	for i := range len(id) {
		switch c := id[i]; {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '_', c == '-':
			sb.WriteByte(c)
		default:
			fmt.Fprintf(&sb, "%%%02x", c)
		}
		if sb.Len() > maxName {
			sum := sha256.Sum256([]byte(id))
			return fmt.Sprintf("%s~%x", sb.String()[:maxName-1-2*len(sum)], sum)
		}
	}
	name := sb.String()
	port := len(name) == 4 && (name[:3] == "com" || name[:3] == "lpt") && '0' <= name[3] && name[3] <= '9'
	switch {
	case name == "":
		return "%"
	case port || slices.Contains(devices, name):
		return fmt.Sprintf("%%%02x%s", name[0], name[1:])
	}
	return name
}

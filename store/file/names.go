package file

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
)

// maxName is how long an encoded id may be, so that it fits every file system with
// an ending.
const maxName = 128

// devices are names that Windows keeps for itself, whatever their ending.
var devices = []string{"con", "prn", "aux", "nul"}

// fileName is a file's name for an id. Every byte but a-z, 0-9, _ and - is written as
// %xx, so that two ids never share a name, also where case does not count, and none
// is a path. An id that gets too long is cut and ends in ~ and its hash.
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

package ids

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
)

// maxOwner is the length up to which Of keeps an id as it is.
const maxOwner = 128

// Of returns the id of the nth part of what has the id owner. It is always the same, so that a
// process that does again what another began finds the same id. A long owner is replaced by its
// hash: the result is at most a few bytes longer than maxOwner.
func Of(owner string, n int) string {
	if len(owner) > maxOwner {
		sum := sha256.Sum256([]byte(owner))
		owner = hex.EncodeToString(sum[:])
	}
	return owner + "-" + strconv.Itoa(n)
}

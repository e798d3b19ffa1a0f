//go:build !unix

package sandbox

import "io/fs"

const nonblock = 0

// onDisk returns how many bytes a file has.
func onDisk(info fs.FileInfo) int64 { return info.Size() }

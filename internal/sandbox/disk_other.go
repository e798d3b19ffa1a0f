//go:build !unix

package sandbox

import "io/fs"

// onDisk returns how many bytes a file has.
func onDisk(info fs.FileInfo) int64 { return info.Size() }

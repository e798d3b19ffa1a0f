// Package messagelog decodes the messages of long logs, fast: with a few allocations for many
// messages.
package messagelog

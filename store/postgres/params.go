package postgres

import (
	"encoding/binary"
	"unicode/utf8"
)

// params are the arguments of a statement in PostgreSQL's binary format. A commit has
// many of them, and encoding each by its Go type would take longer than all the rest.
type params struct {
	values [][]byte
	buf    []byte
}

// Formats of all arguments and of all columns of a result.
var binaryFormat = []int16{1}

// Types of elements in an array.
const (
	oidBigint = 20
	oidText   = 25
)

func newParams(n, bytes int) *params {
	return &params{values: make([][]byte, 0, n), buf: make([]byte, 0, bytes)}
}

// end makes what was written since start the next argument. What buf held before
// it grew stays valid.
func (p *params) end(start int) { p.values = append(p.values, p.buf[start:len(p.buf):len(p.buf)]) }

func (p *params) null() { p.values = append(p.values, nil) }

func (p *params) bigint(n int64) {
	start := len(p.buf)
	p.buf = binary.BigEndian.AppendUint64(p.buf, uint64(n))
	p.end(start)
}

func (p *params) boolean(v bool) {
	start := len(p.buf)
	p.buf = append(p.buf, 0)
	if v {
		p.buf[start] = 1
	}
	p.end(start)
}

// id adds an escaped id.
func (p *params) id(id string) {
	start := len(p.buf)
	p.buf = append(p.buf, escape(id)...)
	p.end(start)
}

// json adds a document. It must not change afterwards.
func (p *params) json(data []byte) { p.values = append(p.values, valid(data)) }

// array begins an array of n elements; none is NULL, which every function takes for
// an empty one. The elements follow, then end.
func (p *params) array(oid uint32, n int) (start int) {
	start = len(p.buf)
	for _, v := range [...]uint32{1, 1, oid, uint32(n), 1} { // one dimension, may hold NULL, type, length, first index
		p.buf = binary.BigEndian.AppendUint32(p.buf, v)
	}
	return start
}

func (p *params) bigintElement(n int64) {
	p.buf = binary.BigEndian.AppendUint32(p.buf, 8)
	p.buf = binary.BigEndian.AppendUint64(p.buf, uint64(n))
}

func (p *params) idElement(id string) {
	id = escape(id)
	p.buf = binary.BigEndian.AppendUint32(p.buf, uint32(len(id)))
	p.buf = append(p.buf, id...)
}

// jsonElement adds a document, or NULL.
func (p *params) jsonElement(data []byte) {
	if data == nil {
		p.buf = binary.BigEndian.AppendUint32(p.buf, 1<<32-1)
		return
	}
	data = valid(data)
	p.buf = binary.BigEndian.AppendUint32(p.buf, uint32(len(data)))
	p.buf = append(p.buf, data...)
}

// valid returns JSON that is UTF-8. What is not can be in it only where raw JSON was
// taken over.
func valid(data []byte) []byte {
	if utf8.Valid(data) {
		return data
	}
	return []byte(text(data))
}

package postgres

import (
	"encoding/binary"
	"fmt"
	"sync"
	"unicode/utf8"
)

// params are the arguments of a statement in the binary format of PostgreSQL. Encoding the
// many arguments of a commit by their Go types would dominate its cost.
type params struct {
	values [][]byte
	buf    []byte
}

// binaryFormat is the format of all arguments and result columns.
var binaryFormat = []int16{1}

const oidText = 25

var paramsPool = sync.Pool{New: func() any { return &params{values: make([][]byte, 0, 24), buf: make([]byte, 0, 4096)} }}

func newParams() *params { return paramsPool.Get().(*params) }

// free returns p to the pool, unless it grew large. The values must not be used afterwards.
func (p *params) free() {
	if cap(p.buf) > 64<<10 {
		return
	}
	clear(p.values)
	p.values, p.buf = p.values[:0], p.buf[:0]
	paramsPool.Put(p)
}

// end adds the bytes of buf since start as the next argument. Earlier arguments stay valid
// when buf grows.
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

// json adds the document in buf since start as the next argument.
func (p *params) json(start int) {
	p.valid(start)
	p.end(start)
}

// valid replaces invalid UTF-8 in the document since start. Only raw JSON can contain it.
func (p *params) valid(start int) {
	if !utf8.Valid(p.buf[start:]) {
		p.buf = append(p.buf[:start], text(p.buf[start:])...)
	}
}

// array adds an array of n texts; element adds each. An empty array is NULL, which the SQL
// functions treat alike.
func (p *params) array(n int, element func(i int)) {
	if n == 0 {
		p.null()
		return
	}
	start := len(p.buf)
	for _, v := range [...]uint32{1, 1, oidText, uint32(n), 1} { // one dimension, may hold NULL, type, length, first index
		p.buf = binary.BigEndian.AppendUint32(p.buf, v)
	}
	for i := range n {
		element(i)
	}
	p.end(start)
}

// document is a message or a call of a commit.
type document interface {
	AppendJSON(buf []byte) ([]byte, error)
}

// documents adds an array of documents. What is their kind, for errors.
func documents[T document](p *params, what string, docs []T) (err error) {
	p.array(len(docs), func(i int) {
		at := p.element()
		out, failed := docs[i].AppendJSON(p.buf)
		if failed != nil {
			err = fmt.Errorf("%s %d: %w", what, i+1, failed)
			return
		}
		p.buf = out
		p.endElement(at)
	})
	return err
}

// element begins an element. The caller appends its bytes and calls endElement.
func (p *params) element() (at int) {
	at = len(p.buf)
	p.buf = append(p.buf, 0, 0, 0, 0)
	return at
}

func (p *params) endElement(at int) {
	p.valid(at + 4)
	binary.BigEndian.PutUint32(p.buf[at:], uint32(len(p.buf)-at-4))
}

func (p *params) nullElement() { p.buf = binary.BigEndian.AppendUint32(p.buf, 1<<32-1) }

func (p *params) idElement(id string) {
	at := p.element()
	p.buf = append(p.buf, escape(id)...)
	p.endElement(at)
}

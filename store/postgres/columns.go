package postgres

import (
	"encoding/binary"
	"unicode/utf8"
)

// columns are the arguments of a function that takes a set of rows: an array for each column, in the binary format of PostgreSQL. Each row adds its
// values in the order of the columns. Lists, of which a row has any number of elements, are arrays behind the columns.
type columns struct {
	list []column
	at   int // the column of the next value
}

// column is an array that grows.
type column struct {
	oid   uint32 // of the elements
	n     int
	nulls bool
	buf   []byte // the header and the elements
}

// The types of elements.
const (
	oidBool   = 16
	oidBigint = 20
)

const arrayHeader = 20 // bytes of an array of one dimension, before its elements

// next returns the column of the next value, to which an element of n bytes is appended.
func (c *columns) next(oid uint32, n int) *column {
	if c.at == len(c.list) {
		c.list = append(c.list, column{oid: oid, buf: make([]byte, arrayHeader, arrayHeader+64)})
	}
	col := &c.list[c.at]
	c.at++
	col.n++
	col.buf = binary.BigEndian.AppendUint32(col.buf, uint32(n))
	return col
}

// endRow ends a row.
func (c *columns) endRow() { c.at = 0 }

func (c *columns) text(s string) {
	col := c.next(oidText, len(s))
	col.buf = append(col.buf, s...)
}

// id adds an escaped id.
func (c *columns) id(id string) { c.text(escape(id)) }

// json adds a document, in which invalid UTF-8 is replaced. An empty one is NULL.
func (c *columns) json(data []byte) {
	if len(data) == 0 {
		const null = -1
		c.next(oidText, null).nulls = true
		return
	}
	if !utf8.Valid(data) {
		data = []byte(text(data))
	}
	col := c.next(oidText, len(data))
	col.buf = append(col.buf, data...)
}

func (c *columns) number(n int64) {
	col := c.next(oidBigint, 8)
	col.buf = binary.BigEndian.AppendUint64(col.buf, uint64(n))
}

func (c *columns) flag(v bool) {
	col := c.next(oidBool, 1)
	if col.buf = append(col.buf, 0); v {
		col.buf[len(col.buf)-1] = 1
	}
}

// values returns the arrays, and the lists behind them.
func (c *columns) values(lists ...*columns) [][]byte {
	out := make([][]byte, 0, len(c.list)+len(lists))
	for i := range c.list {
		out = append(out, c.list[i].value())
	}
	for _, l := range lists {
		if len(l.list) == 0 {
			out = append(out, nil)
			continue
		}
		out = append(out, l.list[0].value())
	}
	return out
}

// value returns the array.
func (c *column) value() []byte {
	head := c.buf[:0]
	nulls := uint32(0)
	if c.nulls {
		nulls = 1
	}
	for _, n := range [...]uint32{1, nulls, c.oid, uint32(c.n), 1} { // dimensions, nulls, type, length, lower bound
		head = binary.BigEndian.AppendUint32(head, n)
	}
	return c.buf
}

// arrayOf returns the elements of an array without nulls in binary format; none if it is NULL.
func arrayOf[T any](data []byte, element func(b []byte) T) []T {
	if len(data) < arrayHeader {
		return nil
	}
	out := make([]T, 0, binary.BigEndian.Uint32(data[12:]))
	for data = data[arrayHeader:]; len(data) >= 4; {
		n := int(binary.BigEndian.Uint32(data))
		out = append(out, element(data[4:4+n]))
		data = data[4+n:]
	}
	return out
}

func bigintOf(b []byte) int64 { return int64(binary.BigEndian.Uint64(b)) }
func boolOf(b []byte) bool    { return b[0] != 0 }

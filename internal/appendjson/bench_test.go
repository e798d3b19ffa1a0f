package appendjson

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// BenchmarkCompact compares compact with json.Compact, which does not even escape.
func BenchmarkCompact(b *testing.B) {
	for name, doc := range map[string]string{
		"arguments": `{"city": "Berlin", "days": 3, "units": "metric"}`,
		"objects":   `[` + strings.Repeat(`{"name":"a thing of some length","price":12.5,"tags":["x","y"]},`, 70) + `{}]`,
		"text":      `{"text":"` + strings.Repeat("lorem ipsum dolor sit amet ", 200) + `"}`,
	} {
		src, buf := []byte(doc), make([]byte, 0, 16<<10)
		b.Run(name+"/compact", func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			for b.Loop() {
				compact(buf, src)
			}
		})
		b.Run(name+"/json.Compact", func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			for b.Loop() {
				if err := json.Compact(bytes.NewBuffer(buf), src); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

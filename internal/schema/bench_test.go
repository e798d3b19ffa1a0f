package schema

import "testing"

// BenchmarkCheck compares the fast path with the validator on arguments as models write them.
func BenchmarkCheck(b *testing.B) {
	s := mustCompile(b, `{"type":"object","properties":{"city":{"type":"string","description":"Where"},"days":{"type":"integer"},"metric":{"type":"boolean"}},"required":["city"],"additionalProperties":false}`)
	args := []byte(`{"city": "Berlin", "days": 3, "metric": true}`)
	for name, s := range map[string]*Schema{"fast": s, "validator": {s: s.s}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := s.Check(args); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
